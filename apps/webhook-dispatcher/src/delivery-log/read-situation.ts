import type { Sql } from '@assistance/service-kit';
import type { DeliveryColumns } from './delivery-of-row.ts';
import type { LogDependencies } from './dependencies.ts';
import type { LoggedSubscription } from './find-subscription.ts';
import { timeOf } from '../log/event-log.ts';
import { logFloor } from '../log/log-floor.ts';
import { newestSeqOf } from './newest-event.ts';
import { selectDeliveries } from './select-deliveries.ts';
import { ofType } from './walk-lanes.ts';
import { LAST_SEQ } from './wanted-lanes.ts';

/** All that is known of one event and one subscription. */
export interface Situation {
  subscription: LoggedSubscription;
  eventId: string;
  /** Null when the log does not hold it, or when it was meant for another alone. */
  event: { type: string; arrivedAt: Date } | null;
  /** The delivery that says most: one that was delivered, else the original, else a replay's. */
  delivery: DeliveryColumns | null;
  /** Whether no more than the lane sends at once wait before it. */
  isNext: boolean;
  /** The times, as positions, at which the subscription took this type. */
  spans: { from: Date; to: Date | null }[];
  /** What arrived before is no longer in the log. */
  keptSince: Date;
}

const MOST_REPLAYS = 100;

export async function readSituation(
  { sql, laneConcurrency }: LogDependencies,
  subscription: LoggedSubscription,
  eventId: string,
): Promise<Situation> {
  const keptSince = await readFloor(sql);
  const nothing = { subscription, eventId, event: null, delivery: null, isNext: false, spans: [], keptSince };
  const seq = await newestSeqOf(sql, eventId);
  const event = seq === undefined ? undefined : await readEvent(sql, seq);
  if (seq === undefined || event === undefined) return nothing;
  if (event.onlyLane !== null && event.onlyLane !== subscription.laneNo) return nothing;
  const { subscriptionId, laneNo } = subscription;
  const deliveries = await selectDeliveries(sql, {
    subscriptionId,
    fromSeq: seq,
    toSeq: seq,
    limit: MOST_REPLAYS,
  });
  const delivery =
    deliveries.find(({ deliveredAttempts }) => deliveredAttempts !== null) ??
    deliveries.find((each) => each.laneNo === laneNo) ??
    deliveries[0] ??
    null;
  const waitsFirst = delivery !== null && delivery.laneNo === laneNo && delivery.unsettledState === null;
  return {
    subscription,
    eventId,
    event,
    delivery,
    isNext: waitsFirst && (await countBefore(sql, subscription, seq, laneConcurrency)) < laneConcurrency,
    spans: await readSpans(sql, laneNo, event.type),
    keptSince,
  };
}

async function readFloor(sql: Sql): Promise<Date> {
  const [row] = await sql.$queryRawUnsafe<{ floor: number }[]>(`select ${logFloor}::float8 as floor`);
  return timeOf(row?.floor ?? 0);
}

async function readEvent(
  sql: Sql,
  seq: bigint,
): Promise<{ type: string; onlyLane: bigint | null; arrivedAt: Date } | undefined> {
  const [row] = await sql.$queryRawUnsafe<{ type: string; onlyLane: bigint | null; arrivedAt: Date }[]>(
    'select type, only_lane as "onlyLane", arrived_at as "arrivedAt" from event where seq = $1::bigint',
    seq,
  );
  return row;
}

const readSpans = (sql: Sql, laneNo: bigint, type: string): PromiseLike<{ from: Date; to: Date | null }[]> =>
  sql.$queryRawUnsafe(
    `select to_timestamp(from_seq / 2048 / 1000.0) as from, to_timestamp(to_seq / 2048 / 1000.0) as to
     from span where lane_no = $1::bigint and type = $2 order by from_seq`,
    laneNo,
    type,
  );

/** How many deliveries of a lane wait for their first attempt before this one; counts no further than `most`. */
async function countBefore(
  sql: Sql,
  { laneNo, cursor }: LoggedSubscription,
  seq: bigint,
  most: number,
): Promise<number> {
  const [row] = await sql.$queryRawUnsafe<{ count: number }[]>(
    `select count(*)::int as count from (
       select e.seq from span p cross join lateral (
         select e.seq from event e
         where ${ofType(`greatest(p.from_seq, $2::bigint + 1, ${logFloor})`, `least(coalesce(p.to_seq, ${LAST_SEQ}), $3::bigint - 1)`)}
           and (select true from delivery d where d.lane_no = p.lane_no and d.seq = e.seq) is null
           and (select true from unsettled u where u.lane_no = p.lane_no and u.seq = e.seq) is null
         order by e.type, e.seq limit $4::int
       ) e where p.lane_no = $1::bigint limit $4::int
     ) before`,
    laneNo,
    cursor,
    seq,
    most,
  );
  return row?.count ?? 0;
}
