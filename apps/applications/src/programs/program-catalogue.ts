import { createProgram, digestOf, isInForce, type Program } from './program.ts';
import type { ProgramPack, TemplatePack } from './program-pack.ts';

/** The programs that this deployment offers. */
export interface ProgramCatalogue {
  /** The version in force, or undefined. Of several the highest wins. */
  inForce(code: string, at: Date): Program | undefined;
  /** What to show of a program: the version in force, else the next announced, else the last; undefined if there is none. */
  find(code: string, at: Date): Program | undefined;
  /** The programs that are open or announced, by code; those made from a template are too many to list. */
  listed(at: Date): Program[];
  /** The version that an application was taken under. */
  byDigest(digest: string, code: string): Program | undefined;
  /** Every pack, to be recorded; a template under the code that stands for it. */
  packs(): { digest: string; code: string; version: number; pack: ProgramPack | TemplatePack }[];
}

/** Stands for a template where a code is asked for; no program can have it. */
export const TEMPLATE_CODE = '*';

const PROGRAMS_OF_TEMPLATE_KEPT = 1_000;

export function createProgramCatalogue(
  packs: ProgramPack[],
  templates: TemplatePack[] = [],
): ProgramCatalogue {
  const versions = Map.groupBy(packs.map(createProgram), ({ pack }) => pack.code);
  for (const of of versions.values()) of.sort((a, b) => b.pack.version - a.pack.version);
  const digests = new Map([...versions.values()].flat().map((program) => [program.digest, program]));
  const made = templates.map(createTemplate);

  const versionsOf = (code: string): readonly Program[] =>
    versions.get(code) ?? made.flatMap(({ programFor }) => programFor(code) ?? []).slice(0, 1);
  const inForce = (code: string, at: Date): Program | undefined =>
    versionsOf(code).find((program) => isInForce(program, at));
  const announced = (code: string, at: Date): Program | undefined =>
    versionsOf(code).findLast(({ effectiveFrom }) => effectiveFrom > at);

  return {
    inForce,
    find: (code, at) => inForce(code, at) ?? announced(code, at) ?? versionsOf(code)[0],
    listed: (at) =>
      [...versions.keys()].sort().flatMap((code) => inForce(code, at) ?? announced(code, at) ?? []),
    byDigest: (digest, code) =>
      digests.get(digest) ?? made.find((template) => template.digest === digest)?.programFor(code),
    packs: () => [
      ...[...digests.values()].map(({ digest, pack }) => ({
        digest,
        code: pack.code,
        version: pack.version,
        pack,
      })),
      ...made.map(({ digest, pack }) => ({ digest, code: TEMPLATE_CODE, version: pack.version, pack })),
    ],
  };
}

/** Makes the program of a code when it is first asked for, and keeps a bounded number of them. */
function createTemplate(pack: TemplatePack) {
  const { except, ...rest } = pack;
  const digest = digestOf(pack);
  const kept = new Map<string, Program>();
  const base = createProgram({ ...rest, code: 'TEMPLATE' });
  return {
    pack,
    digest,
    programFor(code: string): Program | undefined {
      if (except.includes(code)) return undefined;
      const known = kept.get(code);
      if (known !== undefined) return known;
      const program = { ...base, digest, pack: { ...base.pack, code } };
      if (kept.size >= PROGRAMS_OF_TEMPLATE_KEPT) kept.clear();
      kept.set(code, program);
      return program;
    },
  };
}
