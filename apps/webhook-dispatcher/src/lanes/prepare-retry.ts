import type { Sql } from '@assistance/service-kit';
import type { ByHand, Job, Lane } from './lane.ts';
import { loadEndedLane } from './load-lanes.ts';
import { readDelivery } from './read-lane.ts';
import type { SubscriptionLanes } from './subscription-lanes.ts';

/**
 * Makes a delivery ready for one attempt now, whatever its state and wherever it is: in the lane's memory, recorded, or
 * not read yet. Undefined when it is being sent already, or is not there. From here to its recording the lane's `busy`
 * keeps anything else from beginning it.
 */
export async function prepareRetry(
  sql: Sql,
  subscription: SubscriptionLanes,
  laneNo: number,
  seq: number,
): Promise<Job | undefined> {
  const open = subscription.lanes().find((each) => each.laneNo === laneNo);
  const lane = open ?? (await loadEndedLane(sql, laneNo));
  if (lane === undefined || lane.busy.has(seq)) return undefined;
  lane.busy.add(seq);
  try {
    const job = takeFromMemory(lane, seq) ?? (await takeFromLog(sql, lane, seq));
    if (job === undefined) lane.busy.delete(seq);
    return job;
  } catch (error) {
    lane.busy.delete(seq);
    throw error;
  }
}

function takeFromMemory(lane: Lane, seq: number): Job | undefined {
  const job = lane.takeNow(seq);
  return job === undefined ? undefined : asked(job, job.fresh ? 'waiting' : 'retry');
}

async function takeFromLog(sql: Sql, lane: Lane, seq: number): Promise<Job | undefined> {
  const found = await readDelivery(sql, lane, seq);
  if (found === undefined) return undefined;
  // Meanwhile the lane may have come to it.
  const meanwhile = takeFromMemory(lane, seq);
  if (found.recorded !== undefined || meanwhile !== undefined) return found.recorded ?? meanwhile;
  const unread = lane.takeUnread(found.event);
  return unread === undefined ? undefined : asked(unread, 'waiting');
}

const asked = (job: Job, was: ByHand['was']): Job => ({ ...job, byHand: { was, aside: false } });
