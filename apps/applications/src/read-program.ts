import { programCode } from '@assistance/types';
import { notFound, type Answer, type ApiRequest } from '@assistance/service-kit';
import { languageHeaders, languageOf } from './reading/language.ts';
import { programDetailOf } from './reading/program-of.ts';
import type { ProgramCatalogue } from './programs/program-catalogue.ts';
import { etagOf } from './programs/program-etag.ts';

/** GET /programs/{code} (addition). Its ETag, sent as If-Match with a submission, refuses a version read before a change. */
export function readProgram({ programs }: { programs: ProgramCatalogue }) {
  return ({ params, header }: ApiRequest): Answer => {
    const code = programCode.safeParse(params['code']);
    const program = code.success ? programs.find(code.data, new Date()) : undefined;
    if (program === undefined) throw notFound('program');
    const language = languageOf(header);
    return {
      status: 200,
      body: programDetailOf(program, language),
      headers: { ...languageHeaders(language), ETag: etagOf(program, language) },
    };
  };
}
