import { z } from 'zod';
import { dateTimeInput } from '@assistance/types';
import { invalidCursor, pageQuery, type Answer, type ApiRequest, type Sql } from '@assistance/service-kit';
import { logFloor } from '../log/log-floor.ts';
import type { LogDependencies } from './dependencies.ts';
import { findSubscription } from './find-subscription.ts';
import { jsonWithEvents } from './json-with-events.ts';
import { ofType } from './walk-lanes.ts';
import { FIRST_SEQ, firstSeqOf, LAST_SEQ } from './wanted-lanes.ts';

export const eventsQuery = pageQuery.extend({ since: dateTimeInput.optional() });

const position = z.string().regex(/^\d{1,19}$/);

/** A page ends before this many bytes of events, and has at least one. */
const PAGE_BYTES = 4_000_000;

/**
 * GET /subscriptions/{subscriptionId}/events: every event that matched the subscription, in the order of arrival,
 * whatever became of its delivery. Positions rise in the order of commits, so none appears behind a cursor later.
 */
export async function listEvents(
  request: ApiRequest<undefined, z.output<typeof eventsQuery>>,
  deps: LogDependencies,
): Promise<Answer> {
  const { caller, params, query } = request;
  const { sql, cursors } = deps;
  const { cursor, limit, since } = query;
  const { subscriptionId, laneNo } = await findSubscription(request, deps, params['subscriptionId'] ?? '');
  const binding = ['events', caller.owner, subscriptionId, since ?? null];
  const from = since === undefined ? FIRST_SEQ : firstSeqOf(since);
  const after = cursor === undefined ? from - 1n : positionOf(cursors.decode(cursor, binding));
  const rows = await selectEvents(sql, { laneNo, after, limit: limit + 1 });
  const page = rows.filter(({ bytesBefore }, i) => i < limit && (i === 0 || bytesBefore < PAGE_BYTES));
  const last = page.at(-1);
  const nextCursor =
    rows.length > page.length && last !== undefined ? cursors.encode(String(last.seq), binding) : null;
  const bodies = await readBodies(
    sql,
    page.map(({ seq }) => seq),
  );
  return jsonWithEvents({ data: bodies, page: { nextCursor, limit } });
}

/** Positions first, and how much they weigh: the bodies are read only of those that fit. */
const selectEvents = (
  sql: Sql,
  { laneNo, after, limit }: { laneNo: bigint; after: bigint; limit: number },
): PromiseLike<{ seq: bigint; bytesBefore: number }[]> =>
  sql.$queryRawUnsafe(
    `select seq, (sum(size) over (order by seq) - size)::float8 as "bytesBefore" from (
       select t.seq, t.size from span p cross join lateral (
         select e.seq, octet_length(e.body) as size from event e
         where ${ofType(`greatest(p.from_seq, $2::bigint + 1, ${logFloor})`, `coalesce(p.to_seq, ${LAST_SEQ})`)}
         order by e.type, e.seq limit $3::int
       ) t where p.lane_no = $1::bigint
       order by t.seq limit $3::int
     ) e order by seq`,
    laneNo,
    after,
    limit,
  );

async function readBodies(sql: Sql, seqs: bigint[]): Promise<Uint8Array[]> {
  const rows = await sql.$queryRawUnsafe<{ body: Uint8Array }[]>(
    `select e.body from unnest($1::bigint[]) as k (seq)
     cross join lateral (select event.body from event where event.seq = k.seq limit 1) e order by k.seq`,
    seqs,
  );
  return rows.map(({ body }) => body);
}

function positionOf(decoded: unknown): bigint {
  const parsed = position.safeParse(decoded);
  if (!parsed.success) throw invalidCursor();
  return BigInt(parsed.data);
}
