import { programPack, templatePack, type ProgramPack, type TemplatePack } from './program-pack.ts';
import { createProgram, digestOf, type Program } from './program.ts';

/** A pack as it was written, and as it is read. */
export type PackFile = { written: unknown; digest: string } & (
  { kind: 'program'; pack: ProgramPack } | { kind: 'template'; pack: TemplatePack }
);

/** Stands for a template where a code is asked for; no program can have it. */
export const TEMPLATE_CODE = '*';

/** Throws a ZodError when the pack is not of the shape that its kind needs. */
export function readPack(kind: PackFile['kind'], written: unknown): PackFile {
  const digest = digestOf(written);
  return kind === 'program'
    ? { kind, written, digest, pack: programPack.parse(written) }
    : { kind, written, digest, pack: templatePack.parse(written) };
}

export const codeOf = (file: PackFile): string => (file.kind === 'program' ? file.pack.code : TEMPLATE_CODE);

/** The program of a code under a template: the template's pack and digest, this code. */
export function programOfTemplate(template: TemplatePack, digest: string, code: string): Program {
  const { except: _except, ...pack } = template;
  return createProgram({ ...pack, code }, digest);
}
