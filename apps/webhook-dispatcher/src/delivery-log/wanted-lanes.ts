import { seqOf } from '../log/event-log.ts';
import { logFloor } from '../log/log-floor.ts';

/** What a subscription's status is, from its owner's word and, where that is not older, the dispatcher's judgement. */
export const effectiveStatus = `case when s.status <> 'active' then s.status
         when live.judged_epoch >= s.status_epoch then live.judged else 'active' end`;

export const FIRST_SEQ = 0n;
export const LAST_SEQ = 9_223_372_036_854_775_807n;
/** The first position at or after a moment. */
export const firstSeqOf = (time: string | Date): bigint => BigInt(Math.max(0, seqOf(new Date(time))));

/** Which lanes are looked at, and which positions of them (both ends included). */
export interface LaneFilter {
  owner?: string | undefined;
  subscriptionId?: string | undefined;
  replayId?: string | undefined;
  laneNo?: bigint | undefined;
  laneState?: 'open' | 'cancelled' | undefined;
  fromSeq: bigint;
  toSeq: bigint;
  /** Only what comes after this delivery, newest first. */
  after?: { seq: bigint; laneNo: bigint } | undefined;
}

/**
 * The lanes, with what the walks and the resource need of them. A few rows that are read once, whatever the log holds;
 * `from_seq` and `to_seq` bound what is read of each.
 */
export function wantedLanes(filter: LaneFilter, given: (value: unknown) => string): string {
  const { owner, subscriptionId, replayId, laneNo, laneState, fromSeq, toSeq, after } = filter;
  const conditions = [
    ...(owner === undefined ? [] : [`s.owner = ${given(owner)}`]),
    ...(subscriptionId === undefined ? [] : [`s.subscription_id = ${given(subscriptionId)}`]),
    ...(replayId === undefined ? [] : [`l.replay_id = ${given(replayId)}`]),
    ...(laneNo === undefined ? [] : [`l.lane_no = ${given(laneNo)}::bigint`]),
    ...(laneState === undefined ? [] : [`l.state = ${given(laneState)}`]),
  ];
  const to = `${given(toSeq)}::bigint`;
  const upper =
    after === undefined
      ? to
      : `least(${to}, case when l.lane_no < ${given(after.laneNo)}::bigint
           then ${given(after.seq)}::bigint else ${given(after.seq)}::bigint - 1 end)`;
  return `
    select l.lane_no, l.cursor, l.state, l.ended_at, l.replay_id, l.replay_since,
           coalesce(l.replay_mode, 'live') as mode, live.lane_no as live_lane_no, s.subscription_id, s.owner,
           ${effectiveStatus} as status, live.revived_at, live.hold_until, greatest(${given(fromSeq)}::bigint, ${logFloor}) as from_seq, ${upper} as to_seq
    from subscription s
    join lane live on live.subscription_id = s.subscription_id and live.replay_id is null
    join lane l on l.subscription_id = s.subscription_id
    where ${conditions.length === 0 ? 'true' : conditions.join(' and ')}`;
}
