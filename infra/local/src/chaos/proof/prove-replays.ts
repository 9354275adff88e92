import { z } from 'zod';
import type { Caller } from '../load/caller.ts';
import type { ReceptionLine } from '../ledger/ledger-lines.ts';
import { accepted, none, type Claim } from './claim.ts';
import type { WatchedReplay } from './read-ledger.ts';

const replay = z.object({
  replayId: z.string(),
  since: z.string(),
  mode: z.string(),
  status: z.string(),
  requestedAt: z.string(),
  progress: z.record(z.string(), z.number()),
});
const page = z.object({
  data: z.array(replay),
  page: z.object({ nextCursor: z.string().nullable() }),
});
export type ListedReplay = z.infer<typeof replay>;

/** Every replay of a subscription, as the interface lists them: also one whose answer its owner did not get. */
export async function listReplays(caller: Caller, subscriptionUrl: string): Promise<ListedReplay[]> {
  const listed: ListedReplay[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await caller.untilAnswered({
      method: 'get',
      url: `${subscriptionUrl}/replays?limit=200${query}`,
    });
    const { data, page: next } = page.parse(body);
    listed.push(...data);
    cursor = next.nextCursor;
  }
  return listed;
}

/**
 * Pure. Of one subscriber: that each replay came to its end with everything delivered, that what its owner saw of it never
 * went back, and that the receiver got what it had to.
 */
export function proveReplays(options: {
  name: string;
  watched: Map<string, WatchedReplay>;
  listed: ListedReplay[];
  receptions: ReceptionLine[];
}): Claim[] {
  const { name, watched, listed, receptions } = options;
  const taken = receptions.filter(({ status }) => accepted(status));
  const byReplay = Map.groupBy(taken, ({ replayId }) => replayId);
  const idsOf = ({ replayId }: ListedReplay): Set<string> =>
    new Set((byReplay.get(replayId) ?? []).map(({ id }) => id));
  const there = new Map(listed.map((each) => [each.replayId, each]));
  const of = `${listed.length} replays`;
  return [
    none(
      `${name}: each replay that was taken is completed, with nothing left over`,
      [
        ...[...watched.keys()].filter((replayId) => !there.has(replayId)),
        ...listed
          .filter(
            ({ status, progress: { matched, delivered } }) => status !== 'completed' || matched !== delivered,
          )
          .map(
            ({ replayId, mode, status, progress }) =>
              `${replayId} ${mode} ${status} ${JSON.stringify(progress)}`,
          ),
      ],
      of,
    ),
    none(
      `${name}: what a replay has delivered never goes back`,
      [...watched].flatMap(([replayId, { delivered }]) => {
        const seen = [...delivered, there.get(replayId)?.progress['delivered'] ?? 0];
        return seen.some((count, i) => count < (seen[i - 1] ?? 0)) ? [`${replayId} ${seen.join(' ')}`] : [];
      }),
      of,
    ),
    none(
      `${name}: a replay of all brings again each event that was received before it, of the time that it is about`,
      listed
        .filter(({ mode }) => mode === 'all')
        .flatMap((each) => {
          const again = idsOf(each);
          return taken
            .filter(({ at, time }) => at < Date.parse(each.requestedAt) && time >= Date.parse(each.since))
            .filter(({ id }) => !again.has(id))
            .map(({ id }) => `${id} in ${each.replayId}`);
        }),
      of,
    ),
    none(
      `${name}: a replay counts what the receiver took`,
      listed
        .filter((each) => {
          const received = idsOf(each).size;
          const delivered = each.progress['delivered'] ?? 0;
          // Of what was taken and not recorded, a replay that passes over what is delivered may find that it was.
          return each.mode === 'all' ? delivered !== received : delivered > received;
        })
        .map((each) => `${each.replayId} ${each.mode} ${idsOf(each).size} ${JSON.stringify(each.progress)}`),
      of,
    ),
    none(
      `${name}: a replay brings nothing from before its time`,
      listed.flatMap((each) =>
        (byReplay.get(each.replayId) ?? [])
          .filter(({ time }) => time < Date.parse(each.since))
          .map(({ id }) => `${id} in ${each.replayId}`),
      ),
      of,
    ),
  ];
}
