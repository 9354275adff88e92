import type { Lookup, ProgramPack } from './program-pack.ts';

/** What a decision may look at. */
export interface Submission {
  programCode: string;
  channel: string;
  submittedAt: Date;
  answers: Record<string, unknown>;
}

/** Facts that every application has, whatever the applicant answered. */
export const applicationFacts = [
  'application.programCode',
  'application.channel',
  'application.month',
] as const;

/** The facts of an application by name: its answers, what is known of itself, and what the pack looks up. Null is missing. */
export function factsOf(pack: ProgramPack, submission: Submission): Record<string, unknown> {
  const facts: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(submission.answers)) {
    if (value !== null && value !== undefined) facts[name] = value;
  }
  for (const [name, lookup] of Object.entries(pack.lookups)) {
    const value = lookedUp(lookup, facts[lookup.by]);
    if (value === undefined) delete facts[name];
    else facts[name] = value;
  }
  facts['application.programCode'] = submission.programCode;
  facts['application.channel'] = submission.channel;
  facts['application.month'] = submission.submittedAt.getUTCMonth() + 1;
  return facts;
}

function lookedUp({ table, eachFurther }: Lookup, by: unknown): number | undefined {
  if (typeof by !== 'number' || !Number.isSafeInteger(by)) return undefined;
  const found = table[String(by)];
  if (found !== undefined) return found;
  const last = Math.max(...Object.keys(table).map(Number));
  if (eachFurther === undefined || by < last) return undefined;
  return (table[String(last)] ?? 0) + (by - last) * eachFurther;
}
