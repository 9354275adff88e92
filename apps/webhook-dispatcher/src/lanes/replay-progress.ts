import type { DeliveryCounts, SubscriptionReportData } from '@assistance/types';
import { PollLoop, type Logger, type Part, type Sql } from '@assistance/service-kit';
import type { LaneOwner } from './lane-owner.ts';
import { seqOf } from '../log/event-log.ts';
import { logFloor } from '../log/log-floor.ts';
import type { Lane } from './lane.ts';
import type { OutcomeRecorder } from './record-outcomes.ts';
import { countReplay } from './read-lane.ts';
import { reportOf } from './report-of.ts';
import type { SubscriptionLanes } from './subscription-lanes.ts';

const EVERY_MS = 1_000;

/** Tells the owners of replays how far they are, once a second while something changes, and when they are done. */
export function createReplayProgress(options: {
  sql: Sql;
  owner: LaneOwner;
  recorder: OutcomeRecorder;
  log: Logger;
}): Part {
  const { sql, owner, recorder, log } = options;
  const told = new WeakMap<Lane, string>();
  const expired: Expired = new WeakMap();
  const loop = new PollLoop({
    name: 'replay-progress',
    intervalMs: EVERY_MS,
    log,
    turn: async () => {
      for (const subscription of owner.owned()) {
        for (const lane of [...subscription.replays.values()]) await tell(subscription, lane);
      }
      return false;
    },
  });
  return { name: 'replay-progress', start: () => loop.start(), stop: () => loop.stop() };

  async function tell(subscription: SubscriptionLanes, lane: Lane): Promise<void> {
    const ended =
      lane.settled && !lane.behind && !lane.hasJob() && !lane.isLookingUpDue && lane.nextDueAt === Infinity;
    const { progress, completed } = await progressOf({ sql, expired }, subscription, lane, ended);
    const text = JSON.stringify({ progress, completed });
    if (told.get(lane) === text || subscription.dropped) return;
    told.set(lane, text);
    const now = new Date();
    const data: SubscriptionReportData<'subscription.replay_progressed'> = {
      subscriptionId: subscription.subscriptionId,
      replayId: lane.replay!.replayId,
      number: subscription.nextReportNumber(),
      status: completed ? 'completed' : 'running',
      completedAt: completed ? now.toISOString() : null,
      progress,
    };
    recorder.addChange({
      subscription,
      lane,
      state: completed ? 'completed' : null,
      matched: progress.matched,
    });
    recorder.addReport({
      subscription,
      record: reportOf('subscription.replay_progressed', data, now.getTime()),
    });
    if (completed) subscription.replays.delete(lane.laneNo);
  }
}

/** What of a replay of all expired below a floor of the log: counted once, since nothing changes there any more. */
type Expired = WeakMap<Lane, { floor: number; count: number }>;

/**
 * How far a replay is. What one that has nothing left to do has not settled itself has expired, if days were dropped since
 * it was asked for. One that passes over what is delivered did not have to: the live lane or another replay was first.
 */
async function progressOf(
  { sql, expired }: { sql: Sql; expired: Expired },
  subscription: SubscriptionLanes,
  lane: Lane,
  ended: boolean,
): Promise<{ progress: DeliveryCounts; completed: boolean }> {
  const [row] = await sql.$queryRawUnsafe<
    { delivered: number; dead: number; waits: boolean; matched: number | null; floor: number }[]
  >(
    `select l.delivered::float8 as delivered, l.matched::float8 as matched,
            (select count(*)::float8 from unsettled u where u.lane_no = l.lane_no and u.state = 'dead'
               and u.seq >= ${logFloor}) as dead,
            exists (select 1 from unsettled u where u.lane_no = l.lane_no and u.state <> 'dead'
               and u.seq >= ${logFloor}) as waits, ${logFloor}::float8 as floor
     from lane l where l.lane_no = $1::bigint`,
    lane.laneNo,
  );
  const { delivered = 0, dead = 0, floor = 0 } = row ?? {};
  const settled = delivered + dead;
  const matched = Math.max(row?.matched ?? (await countReplay(sql, lane, subscription.live.laneNo)), settled);
  const counts = { matched, delivered, dead, pending: 0, cancelled: 0, expired: 0 };
  const open = matched - settled;
  const hasEnded = ended && row?.waits === false;
  const daysWereDropped = floor > seqOf(lane.replay?.since ?? 0);
  if (hasEnded && daysWereDropped) {
    return { progress: { ...counts, expired: open }, completed: true };
  }
  if (hasEnded && lane.replay?.mode !== 'all') {
    return { progress: { ...counts, matched: settled }, completed: true };
  }
  if (daysWereDropped && lane.replay?.mode === 'all') {
    if (expired.get(lane)?.floor !== floor) {
      const kept = await countReplay(sql, lane, subscription.live.laneNo);
      expired.set(lane, { floor, count: matched - kept - (await countDeliveredBefore(sql, lane, floor)) });
    }
    const { count } = expired.get(lane)!;
    return { progress: { ...counts, pending: open - count, expired: count }, completed: false };
  }
  return { progress: { ...counts, pending: open }, completed: hasEnded && open === 0 };
}

/** One statement, so one moment: what is recorded meanwhile is in both numbers. */
async function countDeliveredBefore(sql: Sql, { laneNo }: Lane, floor: number): Promise<number> {
  const [row] = await sql.$queryRawUnsafe<{ count: number }[]>(
    `select (l.delivered - (select count(*) from delivery d where d.lane_no = l.lane_no and d.seq >= $2::bigint))::float8
       as count from lane l where l.lane_no = $1::bigint`,
    laneNo,
    floor,
  );
  return row?.count ?? 0;
}
