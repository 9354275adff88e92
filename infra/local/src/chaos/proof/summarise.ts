import type { DisturbanceLine } from '../ledger/ledger-lines.ts';
import type { Proof } from './prove.ts';

/** What the disturbances of one process did, in the order of the table's columns. */
interface Row {
  target: string;
  kills: number;
  freezes: number;
  holds: number;
  /** With requests in flight through it. */
  hits: number;
  duplicates: number;
  /** The longest time until all was ready again, where that was waited for. */
  readyS: number;
  /** The longest time without a delivery to the subscriber that takes everything at once. */
  silenceS: number;
}

/** How long after a disturbance a silence still counts as its own. */
const afterMs = 15_000;

/** Pure. One row for each process that was disturbed. */
export function summarise({ ledger, duplicates }: Proof): Row[] {
  const deliveredAt = (ledger.receptions.get('healthy') ?? []).map(({ at }) => at);
  const byTarget = Map.groupBy(ledger.disturbances, ({ target }) => target);
  const greatest = (numbers: number[]): number => Math.round(Math.max(0, ...numbers) / 100) / 10;
  return [...byTarget]
    .map(([target, of]) => ({
      target,
      kills: of.filter(({ kind }) => kind === 'kill').length,
      freezes: of.filter(({ kind }) => kind === 'freeze').length,
      holds: of.filter(({ kind }) => kind === 'hold').length,
      hits: of.filter(({ hit }) => hit > 0).length,
      duplicates: of.reduce((sum, { n }) => sum + (duplicates.byDisturbance.get(n) ?? 0), 0),
      readyS: greatest(of.map(({ readyAt, endedAt }) => (readyAt === null ? 0 : readyAt - endedAt))),
      silenceS: greatest(of.map((disturbance) => longestSilence(deliveredAt, disturbance))),
    }))
    .sort((a, b) => a.target.localeCompare(b.target));
}

function longestSilence(deliveredAt: number[], { startedAt, endedAt, readyAt }: DisturbanceLine): number {
  const until = readyAt ?? endedAt + afterMs;
  let longest = 0;
  for (const [index, at] of deliveredAt.entries()) {
    const next = deliveredAt[index + 1];
    if (next === undefined || next < startedAt || at > until) continue;
    longest = Math.max(longest, next - at);
  }
  return longest;
}

export function showProof(proof: Proof): void {
  const { claims, ledger } = proof;
  console.table(
    Object.fromEntries(
      summarise(proof).map(({ target, readyS, silenceS, ...counts }) => [
        target,
        { ...counts, 'ready again (s)': readyS, 'no delivery (s)': silenceS },
      ]),
    ),
  );
  const received = [...ledger.receptions.values()].reduce((sum, of) => sum + of.length, 0);
  console.log(
    `  ${ledger.submissions.size} submissions, ${ledger.published.size} published events, ${ledger.replays.size} replays, ${received} requests received`,
  );
  for (const { claim, holds, found } of claims) console.log(`  ${holds ? '✓' : '✗'} ${claim} (${found})`);
}
