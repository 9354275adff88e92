import { codeOf, programOfTemplate, type PackFile } from './pack-file.ts';
import { createProgram, isInForce, type Program } from './program.ts';
import type { TemplatePack } from './program-pack.ts';

/** The programs that this deployment offers. */
export interface ProgramCatalogue {
  files: readonly PackFile[];
  /** The version in force, or undefined. Of several the highest wins. */
  inForce(code: string, at: Date): Program | undefined;
  /** What to show of a program: the version in force, else the next announced, else the last; undefined if there is none. */
  find(code: string, at: Date): Program | undefined;
  /** The programs that are open or announced, by code; those made from a template are too many to list. */
  listed(at: Date): Program[];
  /** The version that an application was taken under, if it is offered still. */
  byDigest(digest: string, code: string): Program | undefined;
}

const PROGRAMS_OF_TEMPLATE_KEPT = 1_000;

export function createProgramCatalogue(files: readonly PackFile[]): ProgramCatalogue {
  const programs = files.flatMap((file) =>
    file.kind === 'program' ? [createProgram(file.pack, file.digest)] : [],
  );
  const templates = files.flatMap((file) =>
    file.kind === 'template' ? [createTemplate(file.pack, file.digest)] : [],
  );
  const versions = Map.groupBy(
    programs.toSorted((a, b) => b.pack.version - a.pack.version),
    ({ pack }) => pack.code,
  );

  const versionsOf = (code: string): readonly Program[] =>
    versions.get(code) ?? templates.flatMap(({ programFor }) => programFor(code) ?? []).slice(0, 1);
  const inForce = (code: string, at: Date): Program | undefined =>
    versionsOf(code).find((program) => isInForce(program, at));
  const announced = (code: string, at: Date): Program | undefined =>
    versionsOf(code).findLast(({ effectiveFrom }) => effectiveFrom > at);

  return {
    files,
    inForce,
    find: (code, at) => inForce(code, at) ?? announced(code, at) ?? versionsOf(code)[0],
    listed: (at) =>
      [...versions.keys()].sort().flatMap((code) => inForce(code, at) ?? announced(code, at) ?? []),
    byDigest: (digest, code) =>
      programs.find((program) => program.digest === digest) ??
      templates.find((template) => template.digest === digest)?.programFor(code),
  };
}

/** Makes the program of a code when it is first asked for, and keeps a bounded number of them. */
function createTemplate(pack: TemplatePack, digest: string) {
  const kept = new Map<string, Program>();
  const base = programOfTemplate(pack, digest, 'TEMPLATE');
  return {
    digest,
    programFor(code: string): Program | undefined {
      if (pack.except.includes(code)) return undefined;
      const known = kept.get(code);
      if (known !== undefined) return known;
      const program = { ...base, pack: { ...base.pack, code } };
      if (kept.size >= PROGRAMS_OF_TEMPLATE_KEPT) kept.clear();
      kept.set(code, program);
      return program;
    },
  };
}

/** What is wrong among packs that are each sound: a version is one thing only. */
export function catalogueFaults(files: readonly PackFile[]): string[] {
  const byVersion = Map.groupBy(files, (file) => `${codeOf(file)} version ${file.pack.version}`);
  return [...byVersion].filter(([, of]) => of.length > 1).map(([name]) => `${name} is there more than once`);
}
