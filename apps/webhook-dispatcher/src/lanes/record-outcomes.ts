import {
  isUnavailable,
  shardOf,
  OUTBOX_SHARDS,
  type Logger,
  type OutgoingRecord,
  type ShardLeases,
  type Sql,
} from '@assistance/service-kit';
import type { AttemptOutcome } from '../sending/attempt-outcome.ts';
import type { DeliveryStep } from './delivery-step.ts';
import type { Lane } from './lane.ts';
import type { SubscriptionLanes } from './subscription-lanes.ts';

const BATCH = { recordings: 300, delayMs: 10 };
/** More than this waiting, and nothing new is begun. */
const MAX_WAITING = 5_000;
/** Nor when recording takes this long: what is sent while nothing is recorded may have to be sent again. */
const MAX_RECORDING_MS = 500;
const RETRY_MS = 200;
/** How often a batch is tried that the database answers and does not take (a deadlock passes, bad data does not). */
const MAX_REFUSALS = 10;

/** An attempt that was made. */
export interface MadeAttempt {
  attemptNumber: number;
  attemptedAt: Date;
  durationMs: number;
  outcome: AttemptOutcome;
}

/** What is to be recorded of one delivery. */
export interface Recording {
  subscription: SubscriptionLanes;
  lane: Lane;
  seq: number;
  subject: string;
  /** Never recorded before: it moves the cursor. */
  fresh: boolean;
  attempt: MadeAttempt | null;
  step: DeliveryStep;
  onRecorded?: () => void;
}

/** What a subscription's owner is told, with the batch that made it true. */
export interface PendingReport {
  subscription: SubscriptionLanes;
  record: OutgoingRecord;
}

/** A replay that has come to its end, or learned how much it has to do. */
export interface LaneChange {
  subscription: SubscriptionLanes;
  lane: Lane;
  state: 'completed' | null;
  matched: number | null;
}

/**
 * Records what came of deliveries, in batches of up to 300 or 10 ms, each one statement that is refused for shards whose
 * lease has ended. Tries again while the database is away, for as long as the leases last.
 */
export class OutcomeRecorder {
  private readonly options: {
    sql: Sql;
    leases: ShardLeases;
    log: Logger;
    onLost: (shards: number[]) => void;
    onRecorded: (subscriptions: Set<SubscriptionLanes>) => void;
    onReported: () => void;
  };
  private recordings: Recording[] = [];
  private reports: PendingReport[] = [];
  private changes: LaneChange[] = [];
  private judged = new Set<SubscriptionLanes>();
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;
  private recordingSince: number | undefined;
  private failing = false;
  /** How many recordings were added, and how many of them are recorded or refused. */
  private added = 0;
  private done = 0;

  constructor(options: OutcomeRecorder['options']) {
    this.options = options;
  }

  /** Nothing new should be begun; `onRecorded` says when that is over. */
  get isFull(): boolean {
    const { recordingSince, failing } = this;
    const isStuck = recordingSince !== undefined && performance.now() - recordingSince > MAX_RECORDING_MS;
    return failing || isStuck || this.recordings.length >= MAX_WAITING;
  }

  add(recording: Recording): void {
    this.recordings.push(recording);
    this.added += 1;
    if (this.recordings.length >= BATCH.recordings) void this.flush();
    else this.schedule();
  }

  /** The judgement of a subscription has changed without a delivery. */
  addJudgement(subscription: SubscriptionLanes): void {
    this.judged.add(subscription);
    this.schedule();
  }

  addReport(report: PendingReport): void {
    this.reports.push(report);
    this.judged.add(report.subscription);
    this.schedule();
  }

  addChange(change: LaneChange): void {
    this.changes.push(change);
    this.schedule();
  }

  /** Resolves when all that was added before is recorded or refused; what others add meanwhile is not waited for. */
  async drain(): Promise<void> {
    const upTo = this.added;
    while (this.done < upTo) await this.flush();
    if (this.flushing !== undefined) await this.flushing;
    if (this.hasWork()) await this.flush();
  }

  private hasWork(): boolean {
    return this.recordings.length + this.reports.length + this.changes.length + this.judged.size > 0;
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.flush();
    }, BATCH.delayMs);
  }

  private flush(): Promise<void> {
    this.flushing ??= this.recordBatch().finally(() => {
      this.flushing = undefined;
      if (this.recordings.length >= BATCH.recordings) void this.flush();
      else if (this.hasWork()) this.schedule();
    });
    return this.flushing;
  }

  private async recordBatch(): Promise<void> {
    const isMine = ({ subscription }: { subscription: SubscriptionLanes }): boolean => !subscription.dropped;
    const taken = this.recordings.splice(0, BATCH.recordings);
    const recordings = taken.filter(isMine);
    const reports = this.reports.splice(0).filter(isMine);
    const changes = this.changes.splice(0).filter(isMine);
    const judged = [...this.judged].filter((subscription) => !subscription.dropped);
    this.judged.clear();
    if (recordings.length + reports.length + changes.length + judged.length === 0) {
      this.done += taken.length;
      this.options.onRecorded(new Set());
      return;
    }

    for (const { lane, seq, fresh } of recordings) if (fresh) lane.settle(seq);
    const subscriptions = new Set(
      [...recordings, ...reports, ...changes].map(({ subscription }) => subscription),
    );
    for (const subscription of judged) subscriptions.add(subscription);
    const parameters = statementOf(
      { recordings, reports, changes, judged, subscriptions },
      this.options.leases,
    );
    this.recordingSince = performance.now();
    const held = await this.execute(parameters, [...subscriptions]);
    this.recordingSince = undefined;
    this.failing = false;

    this.done += taken.length;
    const lost = new Set(
      [...subscriptions].filter(({ shard }) => !held.has(shard)).map(({ shard }) => shard),
    );
    if (lost.size > 0) this.options.onLost([...lost]);
    for (const recording of recordings) {
      recording.lane.busy.delete(recording.seq);
      if (held.has(recording.subscription.shard)) recording.onRecorded?.();
    }
    if (reports.length > 0) this.options.onReported();
    this.options.onRecorded(subscriptions);
  }

  private async execute(parameters: unknown[], subscriptions: SubscriptionLanes[]): Promise<Set<number>> {
    const { sql, leases, log } = this.options;
    let refusals = 0;
    for (;;) {
      try {
        const [row] = await sql.$queryRawUnsafe<{ held: number[] }[]>(
          `select record_outcomes($1::uuid, $2::json, $3::json, $4::json, $5::json, $6::json, $7::json, $8::json) as held`,
          ...parameters,
        );
        return new Set(row?.held ?? []);
      } catch (error) {
        this.failing = true;
        log.warn({ err: error }, 'outcomes.not_recorded');
        if (!subscriptions.some(({ shard }) => leases.holds(shard))) return new Set();
        // What the database refuses for what it is would be refused for ever: these lanes are read anew, and send again.
        if (!isUnavailable(error) && ++refusals === MAX_REFUSALS) {
          log.error({ err: error, subscriptions: subscriptions.length }, 'outcomes.refused');
          return new Set();
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
}

function statementOf(
  batch: {
    recordings: Recording[];
    reports: PendingReport[];
    changes: LaneChange[];
    judged: SubscriptionLanes[];
    subscriptions: Set<SubscriptionLanes>;
  },
  leases: ShardLeases,
): unknown[] {
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

function laneRows(batch: {
  recordings: Recording[];
  changes: LaneChange[];
  judged: SubscriptionLanes[];
}): Record<string, unknown>[] {
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
