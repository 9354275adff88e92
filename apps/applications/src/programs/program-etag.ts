import type { Language } from './program-pack.ts';
import type { Program } from './program.ts';

const ENTITY_TAG = /(W\/)?"([\x21\x23-\x7E\x80-\xFF]*)"/;
const LIST = new RegExp(`^(?:${ENTITY_TAG.source}|,|[ \\t])*$`);

/** The strong validator of `GET /programs/{code}` in one language. */
export const etagOf = ({ digest, pack }: Program, language: Language): string =>
  `"${pack.version}-${digest.slice(0, 16)}-${language}"`;

/** A caller that knows the program in any language knows its version. */
export const etagsOf = (program: Program): string[] => [etagOf(program, 'en'), etagOf(program, 'es')];

/** Whether a header is an If-Match at all (RFC 9110, section 13.1.1): `*` or a list of entity tags. */
export function isIfMatch(header: string): boolean {
  return header.trim() === '*' || (header.includes('"') && LIST.test(header));
}

/** RFC 9110, section 13.1.1: strong comparison, so a weak tag matches nothing. */
export function ifMatchHolds(header: string, current: string[]): boolean {
  if (header.trim() === '*') return true;
  return [...header.matchAll(new RegExp(ENTITY_TAG, 'g'))].some(
    ([tag, weak]) => weak === undefined && current.includes(tag),
  );
}
