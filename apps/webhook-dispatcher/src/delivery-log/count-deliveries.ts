import type { DeliveryCounts } from '@assistance/types';
import type { Sql } from '@assistance/service-kit';
import type { LoggedSubscription } from './find-subscription.ts';
import { firstSeqOf, LAST_SEQ } from './wanted-lanes.ts';

/**
 * One statement, so one moment. What matched is counted from the events and the lane's spans, what was delivered or died
 * from what was recorded, each through its index and independently of the other: an event that were lost would stay
 * pending for ever. Tests are left out, of the delivered by the index of events for one lane.
 */
const statement = `
  select
    (select coalesce(sum((
       select count(*) from event e
       where e.type = p.type and e.seq >= greatest(p.from_seq, $2::bigint)
         and e.seq <= least(coalesce(p.to_seq, ${LAST_SEQ}), $3::bigint))), 0)
     from span p where p.lane_no = $1::bigint)::float8 as matched,
    ((select count(*) from delivery d
      where d.lane_no = $1::bigint and d.seq >= $2::bigint and d.seq <= $3::bigint)
     - (select count(*) from event e
        where e.only_lane = $1::bigint and e.seq >= $2::bigint and e.seq <= $3::bigint
          and (select true from delivery d where d.lane_no = $1::bigint and d.seq = e.seq)))::float8 as delivered,
    (select count(*) from unsettled u
     where u.lane_no = $1::bigint and u.seq >= $2::bigint and u.seq <= $3::bigint and u.state = 'dead'
       and (select e.only_lane from event e where e.seq = u.seq) is null)::float8 as dead`;

/** What became of the events that arrived in a stretch of time (`until` not included); replays are not counted. */
export async function countDeliveries(
  sql: Sql,
  { laneNo, status }: Pick<LoggedSubscription, 'laneNo' | 'status'>,
  { since, until }: { since: Date; until: Date },
): Promise<DeliveryCounts> {
  const [row] = await sql.$queryRawUnsafe<{ matched: number; delivered: number; dead: number }[]>(
    statement,
    laneNo,
    firstSeqOf(since),
    firstSeqOf(until) - 1n,
  );
  const { matched, delivered, dead } = row!;
  const open = matched - delivered - dead;
  const isDeleted = status === 'deleted';
  return {
    matched,
    delivered,
    pending: isDeleted ? 0 : open,
    dead,
    cancelled: isDeleted ? open : 0,
    expired: 0,
  };
}
