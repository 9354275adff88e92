import Negotiator from 'negotiator';
import type { Language } from '../programs/program-pack.ts';

const offered: Language[] = ['en', 'es'];

/** The offered language that the caller likes best; English when it likes none of them. */
export function languageOf(header: (name: string) => string[]): Language {
  const negotiator = new Negotiator({
    headers: { 'accept-language': header('Accept-Language').join(', ') || '*' },
  });
  return (negotiator.language(offered) as Language | undefined) ?? 'en';
}

/** What an answer in a language says of itself. */
export const languageHeaders = (language: Language): Record<string, string> => ({
  'Content-Language': language,
  Vary: 'Accept-Language',
});
