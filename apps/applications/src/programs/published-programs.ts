import type { Sql } from '@assistance/service-kit';
import { programOfTemplate, readPack, TEMPLATE_CODE } from './pack-file.ts';
import type { ProgramCatalogue } from './program-catalogue.ts';
import { createProgram, type Program } from './program.ts';

/** The versions that applications were taken under, also those that this deployment offers no longer or not yet. */
export interface PublishedPrograms {
  /** Throws when the version was never published. */
  versionOf(application: { programDigest: string; programCode: string }): Promise<Program>;
}

const KEPT = 1_000;

export function createPublishedPrograms({
  catalogue,
  sql,
}: {
  catalogue: ProgramCatalogue;
  sql: Sql;
}): PublishedPrograms {
  const kept = new Map<string, Program>();
  return {
    async versionOf({ programDigest, programCode }) {
      const offered = catalogue.byDigest(programDigest, programCode);
      if (offered !== undefined) return offered;
      const name = `${programDigest} ${programCode}`;
      const known = kept.get(name) ?? (await read(sql, programDigest, programCode));
      if (kept.size >= KEPT) kept.clear();
      kept.set(name, known);
      return known;
    },
  };
}

async function read(sql: Sql, digest: string, programCode: string): Promise<Program> {
  const [row] = await sql.$queryRawUnsafe<{ code: string; pack: unknown }[]>(
    'select code, pack from program_pack where digest = $1',
    digest,
  );
  if (row === undefined)
    throw new Error('the version of the program that it was taken under was never published');
  const file = readPack(row.code === TEMPLATE_CODE ? 'template' : 'program', row.pack);
  // The database keeps a pack as jsonb, which may order its keys anew; the digest is the published one.
  return file.kind === 'program'
    ? createProgram(file.pack, digest)
    : programOfTemplate(file.pack, digest, programCode);
}
