import { isUnavailable, type Logger, type ShardLeases, type Sql } from '@assistance/service-kit';
import { outcomeParameters } from './outcome-parameters.ts';
import type { LaneChange, PendingReport, Recording } from './recording.ts';
import type { SubscriptionLanes } from './subscription-lanes.ts';

const BATCH = { recordings: 300, delayMs: 10 };
/** After a batch of so many there are more to come, and waiting longer for them saves statements. */
const BUSY = { recordings: 64, delayMs: 20 };
/** More than this waiting, and nothing new is begun. */
const MAX_WAITING = 5_000;
/** Nor when recording takes this long: what is sent while nothing is recorded may have to be sent again. */
const MAX_RECORDING_MS = 500;
const RETRY_MS = 200;
/** How often a batch is tried that the database answers and does not take (a deadlock passes, bad data does not). */
const MAX_REFUSALS = 10;

/**
 * Records what came of deliveries, in batches of up to 300 or 10 ms (20 while busy), each one statement that is refused for
 * shards whose lease has ended. Tries again while the database is away, for as long as the leases last.
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
  /** How many recordings the last batch had. */
  private lastCount = 0;
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
    const { delayMs } = this.lastCount < BUSY.recordings ? BATCH : BUSY;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.flush();
    }, delayMs);
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
    this.lastCount = taken.length;
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
    const parameters = outcomeParameters(
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
