import type { Program as ProgramResource, ProgramDetail } from '@assistance/types';
import type { Language } from '../programs/program-pack.ts';
import type { Program } from '../programs/program.ts';

/** A program as `GET /programs` lists it. */
export function programOf({ pack }: Program, language: Language): ProgramResource {
  const { name, description } = pack.messages[language];
  return {
    code: pack.code,
    version: pack.version,
    name,
    description,
    authority: pack.authority,
    effectiveFrom: pack.effectiveFrom,
    effectiveTo: pack.effectiveTo,
    permittedWithdrawal: pack.withdrawal.permittedFrom,
    links: [{ rel: 'self', href: `/applications/v1/programs/${pack.code}` }, ...pack.links],
  };
}

/** As `GET /programs/{code}` shows it. */
export const programDetailOf = (program: Program, language: Language): ProgramDetail => ({
  ...programOf(program, language),
  answersSchema: program.pack.answersSchema,
});
