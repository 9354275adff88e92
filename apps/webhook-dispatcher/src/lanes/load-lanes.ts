import type { KeyRing, Logger, Sql } from '@assistance/service-kit';
import type { Ordering } from '@assistance/types';
import { logFloor } from '../log/log-floor.ts';
import type { WebhookSender } from '../sending/send-webhook.ts';
import type { Judgement } from './judge-subscription.ts';
import { Lane, type ReplayOf, type Span } from './lane.ts';
import { SubscriptionLanes, type OwnersWord } from './subscription-lanes.ts';

interface LaneRow {
  lane_no: bigint;
  subscription_id: string;
  shard: number;
  replay_id: string | null;
  replay_mode: ReplayOf['mode'] | null;
  replay_since: Date | null;
  cursor: bigint;
  judged: Judgement['judged'];
  judged_epoch: number;
  reason_code: 'failing' | 'failing_too_long' | 'gone' | null;
  reason_since: Date | null;
  fail_count: number;
  first_failed_at: Date | null;
  probe_count: number;
  revived_at: Date | null;
  hold_until: Date | null;
  report_number: number;
  created_at: Date;
  status: OwnersWord['status'];
  status_epoch: number;
  callback_url: string;
  ordering: Ordering;
  secrets: { sealed: string; expiresAt: string | null }[];
  spans: { type: string; from_seq: number; to_seq: number | null }[];
  recorded: number[];
  next_due_at: Date | null;
}

/**
 * The open lanes of some shards, or of one subscription, as they are recorded. `recorded` are positions beyond the
 * cursor that are recorded already: deliveries end in another order than they begin.
 */
const lanesQuery = (where: string, which = `l.state = 'open'`): string => `
  select l.lane_no, l.subscription_id, l.shard, l.replay_id, l.replay_mode, l.replay_since, l.cursor, l.judged,
         l.judged_epoch, l.reason_code, l.reason_since, l.fail_count, l.first_failed_at, l.probe_count, l.revived_at,
         l.hold_until, l.report_number, l.created_at, s.status, s.status_epoch, s.callback_url, s.ordering, s.secrets,
         (select coalesce(json_agg(json_build_object('type', p.type, 'from_seq', p.from_seq, 'to_seq', p.to_seq)), '[]')
          from span p where p.lane_no = l.lane_no) as spans,
         array(select d.seq::float8 from delivery d where d.lane_no = l.lane_no and d.seq > l.cursor and d.seq >= ${logFloor}
               union all
               select u.seq::float8 from unsettled u where u.lane_no = l.lane_no and u.seq > l.cursor and u.seq >= ${logFloor}) as recorded,
         (select min(case when u.attempted_at < l.revived_at then l.revived_at else u.due_at end)
          from unsettled u where u.lane_no = l.lane_no and u.state = 'retry' and u.seq >= ${logFloor}) as next_due_at
  from lane l join subscription s using (subscription_id)
  where ${which} and s.status <> 'deleted' and ${where}
  order by l.lane_no`;

export interface LoadContext {
  sql: Sql;
  keyRing: KeyRing;
  sender: WebhookSender;
  log: Logger;
}

export const loadShards = (context: LoadContext, shards: number[]): Promise<SubscriptionLanes[]> =>
  load(context, 'l.shard = any($1::int[])', shards);

export async function loadSubscription(
  context: LoadContext,
  subscriptionId: string,
): Promise<SubscriptionLanes | undefined> {
  return (await load(context, 'l.subscription_id = $1', subscriptionId))[0];
}

/** A lane that has ended, for a delivery of it that is asked for by hand. */
export async function loadEndedLane(sql: Sql, laneNo: number): Promise<Lane | undefined> {
  const statement = lanesQuery('l.lane_no = $1::bigint', `l.state <> 'open'`);
  const [row] = await sql.$queryRawUnsafe<LaneRow[]>(statement, laneNo);
  return row === undefined ? undefined : laneOf(row);
}

async function load(context: LoadContext, where: string, parameter: unknown): Promise<SubscriptionLanes[]> {
  const rows = await context.sql.$queryRawUnsafe<LaneRow[]>(lanesQuery(where), parameter);
  const subscriptions = new Map<string, SubscriptionLanes>();
  for (const row of rows.filter(({ replay_id }) => replay_id === null)) {
    const word = usableWordOf(row, context);
    if (word === undefined) continue;
    subscriptions.set(
      row.subscription_id,
      new SubscriptionLanes({
        subscriptionId: row.subscription_id,
        shard: row.shard,
        live: laneOf(row),
        word,
        judgement: judgementOf(row),
        reportNumber: row.report_number,
        madeAt: row.created_at,
      }),
    );
  }
  for (const row of rows.filter(({ replay_id }) => replay_id !== null)) {
    const lane = laneOf(row);
    subscriptions.get(row.subscription_id)?.replays.set(lane.laneNo, lane);
  }
  return [...subscriptions.values()];
}

function laneOf(row: LaneRow): Lane {
  const lane = new Lane({
    laneNo: Number(row.lane_no),
    replay:
      row.replay_id === null
        ? null
        : { replayId: row.replay_id, mode: row.replay_mode ?? 'all', since: row.replay_since ?? new Date(0) },
    spans: row.spans.map(spanOf),
    cursor: Number(row.cursor),
    recordedBeyond: row.recorded,
  });
  lane.becomesDue(row.next_due_at?.getTime() ?? Infinity);
  return lane;
}

const spanOf = (span: LaneRow['spans'][number]): Span => ({
  type: span.type,
  fromSeq: span.from_seq,
  toSeq: span.to_seq,
});

/** One subscription that cannot be used (its key is missing from the ring, say) is buffered, and is nobody else's trouble. */
function usableWordOf(row: LaneRow, context: LoadContext): OwnersWord | undefined {
  try {
    return wordOf(row, context);
  } catch (error) {
    context.log.error({ subscriptionId: row.subscription_id, err: error }, 'subscription.unusable');
    return undefined;
  }
}

const wordOf = (row: LaneRow, { keyRing, sender }: LoadContext): OwnersWord => ({
  status: row.status,
  statusEpoch: row.status_epoch,
  ordering: row.ordering,
  target: sender.targetOf(row.callback_url),
  secrets: row.secrets.map(({ sealed, expiresAt }) => ({
    secret: keyRing.open(sealed, row.subscription_id).toString(),
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
  })),
});

const judgementOf = (row: LaneRow): Judgement => ({
  judged: row.judged,
  epoch: row.judged_epoch,
  reason:
    row.reason_code === null ? null : { code: row.reason_code, since: row.reason_since?.getTime() ?? 0 },
  failCount: row.fail_count,
  firstFailedAt: row.first_failed_at?.getTime() ?? null,
  probeCount: row.probe_count,
  revivedAt: row.revived_at?.getTime() ?? null,
  holdUntil: row.hold_until?.getTime() ?? null,
});
