import { PollLoop, type Dependency, type Logger, type Part, type Sql } from '@assistance/service-kit';
import { codeOf, type PackFile } from './pack-file.ts';

/** A version was published with another content before. */
export class ProgramChanged extends Error {
  constructor(names: string[]) {
    super(
      `These programs were changed after they were published: ${names.join(', ')}. ` +
        'A version never changes; give the new content a new version.',
    );
    this.name = 'ProgramChanged';
  }
}

/** Writes every pack to the database, where it stays for the applications taken under it. Throws ProgramChanged. */
export async function publishPrograms(sql: Sql, files: readonly PackFile[]): Promise<void> {
  const packs = files.map((file) => ({
    digest: file.digest,
    code: codeOf(file),
    version: file.pack.version,
    pack: file.written,
  }));
  await sql.$executeRawUnsafe(
    `insert into program_pack (digest, code, version, pack)
     select digest, code, version, pack
     from jsonb_to_recordset($1::jsonb) as t (digest text, code text, version int, pack jsonb)
     on conflict do nothing`,
    JSON.stringify(packs),
  );
  const published = await sql.$queryRawUnsafe<{ digest: string }[]>(
    'select digest from program_pack where digest = any($1::text[])',
    packs.map(({ digest }) => digest),
  );
  const digests = new Set(published.map(({ digest }) => digest));
  const changed = packs.filter(({ digest }) => !digests.has(digest));
  if (changed.length > 0)
    throw new ProgramChanged(changed.map(({ code, version }) => `${code} version ${version}`));
}

/** Publishes as soon as the database is there; the service is ready after that. A changed version ends the process. */
export function createProgramPublication(options: {
  sql: Sql;
  files: readonly PackFile[];
  log: Logger;
}): Part & Dependency {
  const { sql, files, log } = options;
  let published = false;
  const loop = new PollLoop({
    name: 'program-publication',
    intervalMs: 60_000,
    log,
    turn: async () => {
      if (published) return false;
      await publishPrograms(sql, files).catch((error: unknown) => {
        // Thrown where nobody handles it: the service logs it and exits.
        if (error instanceof ProgramChanged) queueMicrotask(() => raise(error));
        throw error;
      });
      published = true;
      log.info({ programs: files.length }, 'programs.published');
      return false;
    },
  });
  return {
    name: 'programs',
    isReady: () => published,
    start: () => loop.start(),
    stop: () => loop.stop(),
  };
}

function raise(error: Error): never {
  throw error;
}
