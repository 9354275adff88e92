import type { DeliveryCounts } from '@assistance/types';
import type { Sql } from '@assistance/service-kit';
import { timeOf } from '../log/event-log.ts';
import type { LoggedSubscription } from './find-subscription.ts';
import { firstSeqOf, LAST_SEQ } from './wanted-lanes.ts';

/**
 * One statement, so one moment. What matched is counted from the events and the lane's spans, what was delivered or died
 * from what was recorded, each through its index and independently of the other: an event that were lost would stay
 * pending for ever. Tests are left out, of the delivered by the index of events for one lane. Days that are tallied, and
 * dropped or about to be, are added from the tally, whole.
 */
const statement = `
  with stretch as materialized (
    select greatest($2::bigint, f.tallied_seq) as from_seq, $3::bigint as to_seq, f.tallied_seq
    from log_floor f where f.id = 1
  ), kept as (
    select
      (select coalesce(sum((
         select count(*) from event e
         where e.type = p.type and e.seq >= greatest(p.from_seq, s.from_seq)
           and e.seq <= least(coalesce(p.to_seq, ${LAST_SEQ}), s.to_seq))), 0)
       from span p where p.lane_no = $1::bigint)::float8 as matched,
      ((select count(*) from delivery d
        where d.lane_no = $1::bigint and d.seq >= s.from_seq and d.seq <= s.to_seq)
       - (select count(*) from event e
          where e.only_lane = $1::bigint and e.seq >= s.from_seq and e.seq <= s.to_seq
            and (select true from delivery d where d.lane_no = $1::bigint and d.seq = e.seq)))::float8 as delivered,
      (select count(*) from unsettled u
       where u.lane_no = $1::bigint and u.seq >= s.from_seq and u.seq <= s.to_seq and u.state = 'dead'
         and (select e.only_lane from event e where e.seq = u.seq) is null)::float8 as dead
    from stretch s
  ), dropped as (
    select coalesce(sum(t.matched), 0)::float8 as matched, coalesce(sum(t.delivered), 0)::float8 as delivered,
           coalesce(sum(t.dead), 0)::float8 as dead, coalesce(sum(t.cancelled), 0)::float8 as cancelled,
           coalesce(sum(t.expired), 0)::float8 as expired
    from tally t cross join stretch s
    where t.subscription_id = $4 and t.day >= ($5::timestamptz at time zone 'UTC')::date
      and t.day < ($6::timestamptz at time zone 'UTC') and seq_of(t.day::timestamp at time zone 'UTC') < s.tallied_seq
  )
  select row_to_json(k) as kept, row_to_json(d) as dropped, s.tallied_seq::float8 as "talliedSeq"
  from kept k cross join dropped d cross join stretch s`;

interface CountRow {
  kept: { matched: number; delivered: number; dead: number };
  dropped: Omit<DeliveryCounts, 'pending'>;
  talliedSeq: number;
}

const DAY_MS = 86_400_000;

/**
 * What became of the events that arrived in a stretch of time (`until` not included); replays are not counted. Where an
 * end of the stretch lies in a dropped day, the stretch that is counted, and answered, has the whole day.
 */
export async function countDeliveries(
  sql: Sql,
  { subscriptionId, laneNo, status }: Pick<LoggedSubscription, 'subscriptionId' | 'laneNo' | 'status'>,
  { since, until }: { since: Date; until: Date },
): Promise<DeliveryCounts & { since: Date; until: Date }> {
  const [row] = await sql.$queryRawUnsafe<CountRow[]>(
    statement,
    laneNo,
    firstSeqOf(since),
    firstSeqOf(until) - 1n,
    subscriptionId,
    since,
    until,
  );
  const { kept, dropped, talliedSeq } = row!;
  const open = kept.matched - kept.delivered - kept.dead;
  const isDeleted = status === 'deleted';
  const tallied = timeOf(talliedSeq);
  return {
    since: since < tallied ? wholeDay(since, Math.floor) : since,
    until: until < tallied ? wholeDay(until, Math.ceil) : until,
    matched: kept.matched + dropped.matched,
    delivered: kept.delivered + dropped.delivered,
    pending: isDeleted ? 0 : open,
    dead: kept.dead + dropped.dead,
    cancelled: dropped.cancelled + (isDeleted ? open : 0),
    expired: dropped.expired,
  };
}

const wholeDay = (time: Date, round: (days: number) => number): Date =>
  new Date(round(time.getTime() / DAY_MS) * DAY_MS);
