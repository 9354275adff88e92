import type { ReceptionLine } from '../ledger/ledger-lines.ts';
import { accepted, none, type Claim } from './claim.ts';
import { toldBy, type ExpectedEvent } from './expected-events.ts';

/** Pure. What one subscriber received, against what it must have received. */
export function proveDeliveries(options: {
  name: string;
  eventTypes: string[];
  ordering: 'none' | 'subject';
  expected: Map<string, ExpectedEvent>;
  receptions: ReceptionLine[];
  /** What Kafka holds of the events that services made: digests by id. */
  records: Map<string, Set<string>>;
}): Claim[] {
  const { name, eventTypes, ordering, expected, receptions, records } = options;
  const wanted = [...expected].filter(([, { type }]) => eventTypes.includes(type));
  const taken = Map.groupBy(
    receptions.filter(({ status }) => accepted(status)),
    toldBy,
  );
  const of = `${wanted.length} events`;
  const claims = [
    none(
      `${name}: each matched event received at least once`,
      wanted.filter(([told]) => !taken.has(told)).map(([told]) => told),
      of,
    ),
    none(
      `${name}: nothing but matched events, each under one id`,
      [...taken]
        .filter(
          ([told, of]) =>
            !eventTypes.includes(of[0]!.type) ||
            !expected.has(told) ||
            new Set(of.map(({ id }) => id)).size > 1,
        )
        .map(([told]) => told),
      `${taken.size} events`,
    ),
    none(
      `${name}: byte for byte, and signed`,
      receptions
        .filter((reception) => {
          const { digest } = expected.get(toldBy(reception)) ?? { digest: null };
          const published = digest === null ? records.get(reception.id) : new Set([digest]);
          const same = published?.size === 1 && published.has(reception.digest);
          return !same || !reception.signed;
        })
        .map(({ id }) => id),
      `${receptions.length} requests`,
    ),
  ];
  if (ordering === 'subject') claims.push(none(`${name}: in order per subject`, outOfOrder(receptions), of));
  return claims;
}

/** Events whose first reception came before that of an earlier event about the same subject. */
function outOfOrder(receptions: ReceptionLine[]): string[] {
  const seen = new Set<string>();
  const last = new Map<string, number>();
  return receptions.flatMap(({ status, id, subject, data }) => {
    if (!accepted(status) || seen.has(id)) return [];
    seen.add(id);
    const sequence = Number(data['sequence']);
    const before = last.get(subject) ?? 0;
    last.set(subject, sequence);
    return sequence === before + 1 ? [] : [`${id} after ${before}`];
  });
}
