import type { Sql } from '@assistance/service-kit';
import { bytesOf, logEventOf, seqOf, type LogEvent } from '../log/event-log.ts';
import { logFloor } from '../log/log-floor.ts';
import { LANE_MEMORY, LANE_MEMORY_BYTES, type ByHand, type Job, type Lane } from './lane.ts';

const MAX_SEQ = '9223372036854775807';
const FIRST = `greatest(s.from_seq, $2::bigint + 1, ${logFloor})`;
const LAST = `coalesce(s.to_seq, ${MAX_SEQ})`;

/**
 * Events of a lane's spans after a position: per span down the index of (type, seq), so a portion costs the same wherever
 * it lies. Said as rows and in the order of both, because no other index has that order: the planner, which knows nothing
 * of a fresh day, would rather go through all other types. The plain bounds tell which days there are to read.
 */
const readStatement = (filter: string): string => `
  select seq, type, only_lane, webhook_id, subject, body from (
  select e.*, sum(octet_length(e.body)) over (order by e.seq) - octet_length(e.body) as bytes_before
  from (
    (select t.* from span s cross join lateral (
       select e.* from event e
       where (e.type, e.seq) >= (s.type, ${FIRST}) and (e.type, e.seq) <= (s.type, ${LAST})
         and e.seq >= ${FIRST} and e.seq <= ${LAST} and e.only_lane is null ${filter}
       order by e.type, e.seq limit ${LANE_MEMORY}
     ) t where s.lane_no = $1::bigint)
    union all
    (select e.* from event e where e.only_lane = $1::bigint and e.seq > $2::bigint and e.seq >= ${logFloor}
     order by e.seq limit ${LANE_MEMORY})
    order by seq limit ${LANE_MEMORY}
  ) e) e
  where bytes_before < ${LANE_MEMORY_BYTES} order by seq`;

/** What was tried and not delivered, and no longer waits for its first attempt. */
const wasTried = `exists (select 1 from unsettled u where u.lane_no = $4::bigint and u.seq = e.seq and u.attempts > 0)`;
/** What the live lane never took. */
const neverTaken = `not exists (select 1 from span p where p.lane_no = $4::bigint and p.type = e.type
  and e.seq >= p.from_seq and e.seq <= coalesce(p.to_seq, ${MAX_SEQ}))`;

/** What another replay has delivered; one that was asked for before the event arrived cannot have. */
const replayed = `exists (select 1 from lane r
  where r.subscription_id = (select live.subscription_id from lane live where live.lane_no = $4::bigint)
    and r.replay_id is not null and r.created_at >= e.arrived_at
    and (select true from delivery d where d.lane_no = r.lane_no and d.seq = e.seq))`;

/** What a replay passes over, by its mode (interface-details 3). */
const replayFilter = {
  all: 'and e.event_time >= $3::timestamptz and $4::bigint is not null',
  failed: `and e.event_time >= $3::timestamptz and ${wasTried}`,
  missing: `and e.event_time >= $3::timestamptz and (${wasTried} or ${neverTaken} and not ${replayed})`,
} as const;

const statements = {
  live: readStatement(''),
  all: readStatement(replayFilter.all),
  failed: readStatement(replayFilter.failed),
  missing: readStatement(replayFilter.missing),
};

/** The next portion of a lane that is behind. `complete` when there was no more. */
export async function readPortion(
  sql: Sql,
  lane: Lane,
  liveLaneNo: number,
  after: number,
): Promise<{ events: LogEvent[]; complete: boolean }> {
  const { replay } = lane;
  const rows = await (replay === null
    ? sql.$queryRawUnsafe<Parameters<typeof logEventOf>[0][]>(statements.live, lane.laneNo, after)
    : sql.$queryRawUnsafe<Parameters<typeof logEventOf>[0][]>(
        statements[replay.mode],
        lane.laneNo,
        after,
        replay.since,
        liveLaneNo,
      ));
  const events = rows.map(logEventOf);
  return { events, complete: rows.length < LANE_MEMORY && bytesOf(events) < LANE_MEMORY_BYTES };
}

/** How many deliveries a replay has before it, as its mode takes them. */
export async function countReplay(sql: Sql, lane: Lane, liveLaneNo: number): Promise<number> {
  const { replay } = lane;
  if (replay === null) return 0;
  const [row] = await sql.$queryRawUnsafe<{ count: number }[]>(
    `select count(*)::float8 as count from span s join event e
       on e.type = s.type and e.only_lane is null and e.seq >= s.from_seq and e.seq <= coalesce(s.to_seq, ${MAX_SEQ})
       ${replayFilter[replay.mode]}
     where s.lane_no = $1::bigint and e.seq >= $2::bigint and e.seq >= ${logFloor}`,
    lane.laneNo,
    seqOf(replay.since),
    replay.since,
    liveLaneNo,
  );
  return row?.count ?? 0;
}

interface DueRow {
  seq: bigint;
  type: string;
  only_lane: bigint | null;
  webhook_id: string;
  subject: string;
  body: Uint8Array;
  attempts: number;
  counted: number;
  state: string;
}

const dueColumns = `e.seq, e.type, e.only_lane, e.webhook_id, u.subject, e.body, u.attempts, u.counted, u.state`;

const retryStatement = (condition: string, order: string): string => `
  select ${dueColumns} from unsettled u join event e on e.seq = u.seq
  where u.lane_no = $1::bigint and u.state = 'retry' and u.seq >= ${logFloor} and u.seq <> all ($2::bigint[])
    ${condition}
  order by ${order} limit $3::int`;

const retryStatements = {
  due: retryStatement('and (u.due_at <= $4::timestamptz or u.attempted_at < $5::timestamptz)', 'u.due_at'),
  triedLongestAgo: retryStatement('', 'u.attempted_at nulls first, u.seq'),
};

/**
 * Deliveries of a lane that are due again, the earliest first; after the subscription became active again, all that was
 * tried before is. With `probe`, the one that was tried longest ago, whenever it is due.
 */
export async function readDue(
  sql: Sql,
  lane: Lane,
  options: { now: Date; revivedAt: Date | null; limit: number; probe: boolean },
): Promise<{ jobs: Job[]; nextDueAt: number }> {
  const { now, revivedAt, limit, probe } = options;
  const rows = await sql.$queryRawUnsafe<DueRow[]>(
    probe ? retryStatements.triedLongestAgo : retryStatements.due,
    lane.laneNo,
    [...lane.busy],
    limit,
    ...(probe ? [] : [now, revivedAt]),
  );
  const jobs = rows.map((row) => jobOf(lane, row));
  if (jobs.length === limit) return { jobs, nextDueAt: now.getTime() };
  const taken = [...lane.busy, ...jobs.map(({ event }) => event.seq)];
  const [next] = await sql.$queryRawUnsafe<{ due_at: Date | null }[]>(
    `select min(due_at) as due_at from unsettled
     where lane_no = $1::bigint and state = 'retry' and seq >= ${logFloor} and seq <> all ($2::bigint[])`,
    lane.laneNo,
    taken,
  );
  return { jobs, nextDueAt: next?.due_at?.getTime() ?? Infinity };
}

/** One delivery as it is recorded, or the event of one that is not, for an attempt by hand. */
export async function readDelivery(
  sql: Sql,
  lane: Lane,
  seq: number,
): Promise<{ event: LogEvent; recorded: Job | undefined } | undefined> {
  const [row] = await sql.$queryRawUnsafe<(Omit<DueRow, 'state'> & { state: ByHand['was'] })[]>(
    `select e.seq, e.type, e.only_lane, e.webhook_id, e.subject, e.body, coalesce(u.counted, 0) as counted,
            greatest(d.attempts, u.attempts, 0, (
              select max(a.attempt_number) from attempt a where a.lane_no = $1::bigint and a.seq = e.seq)) as attempts,
            case when d.seq is not null then 'delivered' else coalesce(u.state, 'waiting') end as state
     from event e
     left join delivery d on d.lane_no = $1::bigint and d.seq = e.seq
     left join unsettled u on u.lane_no = $1::bigint and u.seq = e.seq
     where e.seq = $2::bigint and e.seq >= ${logFloor}`,
    lane.laneNo,
    seq,
  );
  if (row === undefined) return undefined;
  if (row.state === 'waiting') return { event: logEventOf(row), recorded: undefined };
  const job = { ...jobOf(lane, row), byHand: { was: row.state, aside: false } };
  return { event: job.event, recorded: job };
}

const jobOf = (lane: Lane, row: DueRow): Job => ({
  lane,
  event: logEventOf(row),
  tried: { attempts: row.attempts, counted: row.counted, wasDead: row.state === 'dead' },
  fresh: false,
});
