import { shardOf, OUTBOX_SHARDS, type ShardLeases } from '@assistance/service-kit';
import type { Lane } from './lane.ts';
import type { OutcomeBatch } from './recording.ts';
import type { SubscriptionLanes } from './subscription-lanes.ts';

/** What `record_outcomes` is called with. */
export function outcomeParameters(batch: OutcomeBatch, leases: ShardLeases): unknown[] {
  const delivered = [];
  const unsettled = [];
  const settled = [];
  const attempts = [];
  for (const { subscription, lane, seq, subject, fresh, attempt, step } of batch.recordings) {
    const place = { shard: subscription.shard, lane_no: lane.laneNo, seq };
    if (step.state === 'delivered') {
      const { outcome, attemptedAt, durationMs } = attempt!;
      delivered.push({
        ...place,
        origin_lane_no: lane.replay === null ? null : subscription.live.laneNo,
        attempts: step.attempts,
        attempted_at: attemptedAt,
        duration_ms: durationMs,
        response_status: outcome.responseStatus,
        response_body: outcome.responseBody,
      });
      if (!fresh) settled.push(place);
    } else if (step.state !== 'kept') {
      const failure = attempt?.outcome.kind === 'failed' ? attempt.outcome : null;
      unsettled.push({
        ...place,
        state: step.state,
        due_at: step.state === 'retry' ? new Date(step.dueAt) : null,
        attempts: step.attempts,
        counted: step.counted,
        attempted_at: attempt?.attemptedAt ?? null,
        reason: failure?.reason ?? null,
        response_status: failure?.responseStatus ?? null,
        subject,
      });
    }
    if (attempt !== null && !(step.state === 'delivered' && attempt.attemptNumber === 1)) {
      attempts.push({
        ...place,
        attempt_number: attempt.attemptNumber,
        attempted_at: attempt.attemptedAt,
        duration_ms: attempt.durationMs,
        reason: attempt.outcome.kind === 'failed' ? attempt.outcome.reason : null,
        response_status: attempt.outcome.responseStatus,
        response_body: attempt.outcome.responseBody,
      });
    }
  }
  return [
    leases.owner,
    JSON.stringify(
      [...new Set([...batch.subscriptions].map(({ shard }) => shard))].map((shard) => ({
        shard,
        epoch: String(leases.epochOf(shard) ?? -1n),
      })),
    ),
    JSON.stringify(delivered),
    JSON.stringify(unsettled),
    JSON.stringify(settled),
    JSON.stringify(attempts),
    JSON.stringify(laneRows(batch)),
    JSON.stringify(
      batch.reports.map(({ subscription, record }) => ({
        shard: subscription.shard,
        outbox_shard: shardOf(record.key, OUTBOX_SHARDS),
        topic: record.topic,
        key: record.key,
        value: record.value?.toString() ?? null,
        headers: record.headers,
      })),
    ),
  ];
}

function laneRows(batch: Pick<OutcomeBatch, 'recordings' | 'changes' | 'judged'>): Record<string, unknown>[] {
  const rows = new Map<Lane, Record<string, unknown>>();
  const rowOf = (subscription: SubscriptionLanes, lane: Lane): Record<string, unknown> => {
    let row = rows.get(lane);
    if (row === undefined) {
      row = laneRow(subscription, lane);
      rows.set(lane, row);
    }
    return row;
  };
  for (const { subscription, lane } of batch.recordings) {
    rowOf(subscription, lane);
    // A replay's outcomes are part of the subscription's judgement, which its live lane keeps.
    rowOf(subscription, subscription.live);
  }
  for (const subscription of batch.judged) rowOf(subscription, subscription.live);
  for (const { subscription, lane, state, matched } of batch.changes) {
    Object.assign(rowOf(subscription, lane), { state, matched });
  }
  return [...rows.values()].sort((a, b) => Number(a['lane_no']) - Number(b['lane_no']));
}

function laneRow(subscription: SubscriptionLanes, lane: Lane): Record<string, unknown> {
  const { judgement } = subscription;
  const time = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
  return {
    shard: subscription.shard,
    lane_no: lane.laneNo,
    cursor: lane.cursor,
    judged: judgement.judged,
    judged_epoch: judgement.epoch,
    reason_code: judgement.reason?.code ?? null,
    reason_since: time(judgement.reason?.since ?? null),
    fail_count: judgement.failCount,
    first_failed_at: time(judgement.firstFailedAt),
    probe_count: judgement.probeCount,
    revived_at: time(judgement.revivedAt),
    hold_until: time(judgement.holdUntil),
    report_number: subscription.reportNumber,
  };
}
