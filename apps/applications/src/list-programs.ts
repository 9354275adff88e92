import { z } from 'zod';
import {
  invalidCursor,
  type pageQuery,
  type Answer,
  type ApiRequest,
  type CursorCodec,
} from '@assistance/service-kit';
import { languageHeaders, languageOf } from './reading/language.ts';
import { programOf } from './reading/program-of.ts';
import type { ProgramCatalogue } from './programs/program-catalogue.ts';

/** GET /programs (addition): the programs that are open or announced, by code. */
export function listPrograms({ programs, cursors }: { programs: ProgramCatalogue; cursors: CursorCodec }) {
  return ({ caller, query, header }: ApiRequest<undefined, z.output<typeof pageQuery>>): Answer => {
    const { limit } = query;
    const binding = ['programs', caller.owner];
    const after = query.cursor === undefined ? '' : codeOf(cursors.decode(query.cursor, binding));
    const rest = programs.listed(new Date()).filter(({ pack }) => pack.code > after);
    const page = rest.slice(0, limit);
    const last = page.at(-1)?.pack.code;
    const nextCursor = rest.length > limit && last !== undefined ? cursors.encode(last, binding) : null;
    const language = languageOf(header);
    return {
      status: 200,
      body: { data: page.map((program) => programOf(program, language)), page: { nextCursor, limit } },
      headers: languageHeaders(language),
    };
  };
}

function codeOf(decoded: unknown): string {
  const parsed = z.string().safeParse(decoded);
  if (!parsed.success) throw invalidCursor();
  return parsed.data;
}
