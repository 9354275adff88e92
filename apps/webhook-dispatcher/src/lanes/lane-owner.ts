import { topics, type SubscriptionReportData } from '@assistance/types';
import {
  cloudEventOf,
  newId,
  structuredRecord,
  type KeyRing,
  type Lease,
  type Logger,
  type Part,
  type ShardLeases,
  type Sql,
} from '@assistance/service-kit';
import type { DeliverySettings } from '../config.ts';
import type { LogEvent } from '../log/event-log.ts';
import type { AttemptOutcome } from '../sending/attempt-outcome.ts';
import type { WebhookSender } from '../sending/send-webhook.ts';
import type { DispatcherMetrics } from '../dispatcher-metrics.ts';
import { stepAfter, stepByHand } from './delivery-step.ts';
import { joinSpans } from './join-spans.ts';
import { freshJudgement, judgeAfter } from './judge-subscription.ts';
import type { Job, Lane } from './lane.ts';
import { loadShards, loadSubscription } from './load-lanes.ts';
import { prepareRetry } from './prepare-retry.ts';
import { readDue, readHeldSubjects, readPortion, releaseAllSubjects, releaseSubject } from './read-lane.ts';
import { OutcomeRecorder } from './record-outcomes.ts';
import type { SubscriptionLanes } from './subscription-lanes.ts';

const TICK_MS = 20;
const DUE_PORTION = 32;
const LET_GO_MS = 1_000;
const RELOAD_MS = 500;

export interface LaneOwnerOptions {
  sql: Sql;
  leases: ShardLeases;
  keyRing: KeyRing;
  sender: WebhookSender;
  settings: DeliverySettings;
  metrics: DispatcherMetrics;
  log: Logger;
  /** Outbox rows were committed. */
  onReported: () => void;
  now?: () => number;
  random?: () => number;
}

/**
 * Owns the lanes of the shards that this instance has leased: takes new events, begins deliveries, has their outcomes
 * recorded, and sees to what is due again. Everything that decides is in `Lane`, `SubscriptionLanes`, `judgeAfter` and
 * `stepAfter`; here it meets the network and the database.
 */
export class LaneOwner implements Part {
  readonly name = 'lane-owner';
  private readonly options: LaneOwnerOptions;
  private readonly now: () => number;
  private readonly random: () => number;
  private readonly recorder: OutcomeRecorder;
  private readonly subscriptions = new Map<string, SubscriptionLanes>();
  private readonly takers = new Map<string, Map<Lane, SubscriptionLanes>>();
  private readonly stalled = new Set<SubscriptionLanes>();
  private readonly timed = new Map<SubscriptionLanes, number>();
  private acquired: number[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(options: LaneOwnerOptions) {
    this.options = options;
    this.now = options.now ?? Date.now;
    this.random = options.random ?? Math.random;
    this.recorder = new OutcomeRecorder({
      sql: options.sql,
      leases: options.leases,
      log: options.log,
      onLost: (shards) => shards.forEach((shard) => this.lose(shard)),
      onRecorded: (subscriptions) => this.pumpAfterRecording(subscriptions),
      onReported: options.onReported,
    });
  }

  start(): void {
    this.timer = setInterval(() => this.pumpDue(), TICK_MS);
  }

  async stop(): Promise<void> {
    await this.recorder.drain();
    clearInterval(this.timer);
  }

  /** The subscriptions whose replays have something to tell. */
  owned(): Iterable<SubscriptionLanes> {
    return this.subscriptions.values();
  }

  get recording(): OutcomeRecorder {
    return this.recorder;
  }

  /** Shards are now this instance's: their lanes are loaded together. */
  take({ shard }: Lease): void {
    this.acquired.push(shard);
    if (this.acquired.length === 1) queueMicrotask(() => void this.loadAcquired());
  }

  /** A shard goes to another instance: ends what is under way, within a second, and lets go. */
  async letGo({ shard }: Lease): Promise<void> {
    const mine = [...this.subscriptions.values()].filter((subscription) => subscription.shard === shard);
    for (const subscription of mine) subscription.suspended = true;
    const overdueAt = this.now() + LET_GO_MS;
    while (mine.some(({ inFlight }) => inFlight > 0) && this.now() < overdueAt) await delay(10);
    if (this.options.leases.holds(shard)) await this.recorder.drain();
    this.drop(shard);
  }

  /** Gives new events of the log, in order, to the lanes that take them. */
  handOver(events: LogEvent[]): void {
    const touched = new Set<SubscriptionLanes>();
    for (const event of events) {
      for (const [lane, subscription] of this.takers.get(event.type) ?? []) {
        lane.offer(event);
        touched.add(subscription);
      }
      if (event.onlyLane !== null) this.offerToOne(event, touched);
    }
    for (const subscription of touched) this.pump(subscription);
  }

  /** Every lane reads for itself from where it is, as if it had just been loaded. */
  readAnew(): void {
    for (const subscription of this.subscriptions.values()) {
      for (const lane of subscription.lanes()) lane.forgetWaiting();
      this.pump(subscription);
    }
  }

  /** The mirror learned something of a subscription: applies it to its lanes. */
  async refresh(subscriptionId: string): Promise<void> {
    const { sql } = this.options;
    const known = this.subscriptions.get(subscriptionId);
    if (known !== undefined && (await this.hasNewSpans(known))) await this.quiesce(known);
    await joinSpans(sql, { subscriptionId });
    const loaded = await loadSubscription(this.options, subscriptionId);
    if (loaded === undefined) {
      if (known !== undefined) this.remove(known);
      return;
    }
    if (known === undefined || known.suspended) {
      if (known !== undefined) this.remove(known);
      await this.adopt(loaded);
      return;
    }
    await Promise.all(known.preparing);
    const leftSubjectOrder = known.bySubject && loaded.word.ordering === 'none';
    known.changeWord(loaded.word);
    this.unindex(known);
    known.live.changeSpans(loaded.live.spans);
    for (const [laneNo, lane] of loaded.replays)
      if (!known.replays.has(laneNo)) known.replays.set(laneNo, lane);
    for (const [laneNo, lane] of known.replays) {
      if (loaded.replays.has(laneNo)) continue;
      lane.forgetWaiting();
      known.replays.delete(laneNo);
    }
    this.index(known);
    if (leftSubjectOrder) await this.endSubjectOrder(known);
    this.followEpoch(known);
    this.pump(known);
  }

  /**
   * One attempt now, asked for by hand. Resolves with `done` when it is recorded, or there is nothing to do; `later` when
   * it is to be asked again; `held` when the subscription is paused, unless it is about to be resumed.
   */
  async retry(
    { subscriptionId, laneNo, seq }: { subscriptionId: string; laneNo: number; seq: number },
    options = { whilePaused: false },
  ): Promise<'done' | 'later' | 'held'> {
    const { sql, log } = this.options;
    const subscription = this.subscriptions.get(subscriptionId);
    if (subscription === undefined) return (await isLive(sql, subscriptionId)) ? 'later' : 'done';
    if (subscription.suspended) return 'later';
    if (subscription.status === 'paused' && !options.whilePaused) return 'held';
    const key = keyOf(laneNo, seq);
    if (subscription.askedByHand.has(key)) return 'done';
    return new Promise((resolve) => {
      const settle = (result: 'done' | 'later'): void => {
        subscription.askedByHand.delete(key);
        resolve(result);
      };
      subscription.askedByHand.set(key, settle);
      const prepared = prepareRetry(sql, subscription, laneNo, seq).then(
        (job) => {
          if (job === undefined) return settle('done');
          subscription.forced.push(job);
          this.pump(subscription);
        },
        (error: unknown) => {
          log.warn({ err: error }, 'retry.not_prepared');
          settle('later');
        },
      );
      subscription.preparing.add(prepared);
      void prepared.finally(() => subscription.preparing.delete(prepared));
    });
  }

  private async loadAcquired(): Promise<void> {
    const { sql, leases, log } = this.options;
    const shards = this.acquired.splice(0).filter((shard) => leases.holds(shard));
    if (shards.length === 0) return;
    try {
      await joinSpans(sql, { shards });
      const loaded = await loadShards(this.options, shards);
      for (const subscription of loaded) {
        if (leases.holds(subscription.shard)) await this.adopt(subscription);
      }
      log.info({ shards: shards.length, subscriptions: loaded.length }, 'lanes.loaded');
    } catch (error) {
      log.warn({ err: error }, 'lanes.not_loaded');
      await delay(RELOAD_MS);
      this.acquired.push(...shards);
      await this.loadAcquired();
    }
  }

  private async adopt(subscription: SubscriptionLanes): Promise<void> {
    if (this.subscriptions.has(subscription.subscriptionId)) return;
    this.subscriptions.set(subscription.subscriptionId, subscription);
    this.index(subscription);
    if (subscription.bySubject) for (const lane of subscription.lanes()) await this.loadSubjects(lane);
    this.followEpoch(subscription);
    this.pump(subscription);
  }

  private drop(shard: number): void {
    for (const subscription of this.subscriptions.values()) {
      if (subscription.shard !== shard) continue;
      subscription.dropped = true;
      this.remove(subscription);
    }
  }

  /** What was not recorded is known only here: if the shard is still this instance's, its lanes are loaded anew. */
  private lose(shard: number): void {
    this.drop(shard);
    const epoch = this.options.leases.epochOf(shard);
    if (epoch !== undefined) this.take({ shard, epoch });
  }

  private remove(subscription: SubscriptionLanes): void {
    subscription.suspended = true;
    for (const settle of [...subscription.askedByHand.values()]) settle('later');
    for (const lane of subscription.lanes()) lane.forgetWaiting();
    this.subscriptions.delete(subscription.subscriptionId);
    this.timed.delete(subscription);
    this.stalled.delete(subscription);
    this.unindex(subscription);
  }

  private index(subscription: SubscriptionLanes): void {
    for (const { type } of subscription.live.spans) {
      const takers = this.takers.get(type) ?? new Map<Lane, SubscriptionLanes>();
      takers.set(subscription.live, subscription);
      this.takers.set(type, takers);
    }
  }

  private unindex(subscription: SubscriptionLanes): void {
    for (const takers of this.takers.values()) takers.delete(subscription.live);
  }

  private offerToOne(event: LogEvent, touched: Set<SubscriptionLanes>): void {
    for (const subscription of this.subscriptions.values()) {
      if (subscription.live.laneNo !== event.onlyLane) continue;
      subscription.live.offer(event);
      touched.add(subscription);
    }
  }

  /** The owner spoke after the judgement was made: it begins afresh. */
  private followEpoch(subscription: SubscriptionLanes): void {
    const { statusEpoch } = subscription.word;
    if (subscription.judgement.epoch >= statusEpoch) return;
    const revivedAt = subscription.judgement.judged === 'active' ? null : this.now();
    subscription.judgement = { ...freshJudgement(statusEpoch), revivedAt };
    if (revivedAt !== null) for (const lane of subscription.lanes()) lane.nextDueAt = revivedAt;
    this.recorder.addJudgement(subscription);
  }

  /** Begins what may begin, reads what is wanted, and remembers when to look again. */
  private pump(subscription: SubscriptionLanes): void {
    const { leases, settings } = this.options;
    if (subscription.dropped || subscription.suspended || !leases.holds(subscription.shard)) return;
    if (subscription.status === 'paused' || subscription.status === 'deleted') {
      for (const lane of subscription.lanes()) lane.forgetWaiting();
      this.timed.delete(subscription);
      return;
    }
    const now = this.now();
    if (subscription.bySubject) this.recordBlocked(subscription);
    if (this.recorder.isFull) {
      this.stalled.add(subscription);
      return;
    }
    for (let job = subscription.next(now, settings.laneConcurrency); job !== undefined;) {
      this.begin(subscription, job);
      job = subscription.next(now, settings.laneConcurrency);
    }
    for (const lane of subscription.lanes()) this.feed(subscription, lane, now);
    this.remember(subscription, now);
  }

  private begin(subscription: SubscriptionLanes, job: Job): void {
    const { sender, metrics } = this.options;
    subscription.began(job);
    metrics.inFlight.inc();
    const startedAt = performance.now();
    const attemptedAt = new Date(this.now());
    const { statusEpoch, target } = subscription.word;
    const signature = subscription.sign(attemptedAt.getTime())({
      id: job.event.webhookId,
      body: job.event.body,
      timestampSeconds: Math.floor(attemptedAt.getTime() / 1000),
    });
    sender.send(
      { target, signature, replayId: job.lane.replay?.replayId, body: job.event.body },
      (outcome) => {
        const durationMs = performance.now() - startedAt;
        metrics.inFlight.dec();
        metrics.attempted(outcome, durationMs);
        this.finish(subscription, job, {
          attemptedAt,
          durationMs: Math.round(durationMs),
          outcome,
          statusEpoch,
        });
      },
    );
  }

  private finish(
    subscription: SubscriptionLanes,
    job: Job,
    attempt: { attemptedAt: Date; durationMs: number; outcome: AttemptOutcome; statusEpoch: number },
  ): void {
    const { settings, log } = this.options;
    const { lane, event, tried, fresh, byHand } = job;
    subscription.ended(job);
    if (subscription.dropped) return;
    const { outcome, attemptedAt, durationMs } = attempt;
    const now = this.now();
    const before = subscription.judgement;
    // What came of the address before the owner changed it says nothing of the present one.
    const after = attempt.statusEpoch === before.epoch ? judgeAfter(before, outcome, settings, now) : before;
    subscription.judgement = after;
    const nextStep = stepAfter(tried, outcome, { before, after }, settings, now, this.random);
    const step = byHand === undefined ? nextStep : stepByHand(byHand, nextStep);
    const inSubjectOrder = subscription.bySubject && byHand?.aside !== true;
    const attemptNumber = tried.attempts + 1;
    if (step.state === 'delivered') {
      lane.newlyDelivered += 1;
      if (lane.replay !== null) forget(subscription.live, event.seq);
    }
    if (inSubjectOrder) {
      lane.heldSubjects.set(event.subject, step.state === 'retry' ? 'retrying' : 'in_flight');
    }
    this.recorder.add({
      subscription,
      lane,
      seq: event.seq,
      subject: event.subject,
      fresh,
      attempt: { attemptNumber, attemptedAt, durationMs, outcome },
      step,
      onRecorded: () => {
        if (step.state === 'retry') lane.nextDueAt = Math.min(lane.nextDueAt, step.dueAt);
        else if (inSubjectOrder) void this.release(subscription, lane, event.subject);
        if (byHand !== undefined) subscription.askedByHand.get(keyOf(lane.laneNo, event.seq))?.('done');
      },
    });
    const fields = {
      subscriptionId: subscription.subscriptionId,
      eventId: event.webhookId,
      attemptNumber,
      durationMs,
    };
    if (outcome.kind === 'succeeded')
      log.debug({ ...fields, status: outcome.responseStatus }, 'delivery.attempted');
    else
      log.info(
        { ...fields, reason: outcome.reason, status: outcome.responseStatus, next: step.state },
        'delivery.attempted',
      );
    if (after.judged !== before.judged) this.judgementChanged(subscription, now);
    this.pump(subscription);
  }

  private judgementChanged(subscription: SubscriptionLanes, now: number): void {
    const { judgement, subscriptionId } = subscription;
    subscription.reportNumber += 1;
    const data: SubscriptionReportData<'subscription.status_judged'> = {
      subscriptionId,
      statusEpoch: judgement.epoch,
      number: subscription.reportNumber,
      status: judgement.judged,
      reason:
        judgement.reason === null
          ? null
          : { code: judgement.reason.code, since: new Date(judgement.reason.since).toISOString() },
    };
    const report = cloudEventOf({
      id: newId('evt'),
      source: '/webhook-dispatcher',
      type: 'subscription.status_judged',
      subject: subscriptionId,
      time: new Date(now),
      data,
    });
    this.recorder.addReport({ subscription, record: structuredRecord(topics.report.name, report) });
    this.options.log.info(
      { subscriptionId, status: judgement.judged, reason: data.reason?.code },
      'subscription.judged',
    );
    if (judgement.revivedAt === now) for (const lane of subscription.lanes()) lane.nextDueAt = now;
  }

  /** With order per subject: what is behind a delivery that waits for its next attempt is recorded, and the lane goes on. */
  private recordBlocked(subscription: SubscriptionLanes): void {
    for (const lane of subscription.lanes()) {
      for (const { seq, subject } of lane.takeBlocked()) {
        this.recorder.add({
          subscription,
          lane,
          seq,
          subject,
          fresh: true,
          attempt: null,
          step: { state: 'blocked', attempts: 0, counted: 0 },
        });
      }
    }
  }

  private async release(subscription: SubscriptionLanes, lane: Lane, subject: string): Promise<void> {
    try {
      if (await releaseSubject(this.options.sql, lane, subject)) {
        lane.heldSubjects.set(subject, 'retrying');
        lane.nextDueAt = this.now();
      } else {
        lane.heldSubjects.delete(subject);
      }
      this.pump(subscription);
    } catch (error) {
      this.options.log.warn({ err: error }, 'lane.release_failed');
      await delay(RELOAD_MS);
      if (!subscription.dropped) await this.release(subscription, lane, subject);
    }
  }

  private async loadSubjects(lane: Lane): Promise<void> {
    for (const { subject, hasHead } of await readHeldSubjects(this.options.sql, lane)) {
      if (hasHead || (await releaseSubject(this.options.sql, lane, subject))) {
        lane.heldSubjects.set(subject, 'retrying');
        lane.nextDueAt = this.now();
      }
    }
  }

  private async endSubjectOrder(subscription: SubscriptionLanes): Promise<void> {
    for (const lane of subscription.lanes()) {
      lane.heldSubjects.clear();
      await releaseAllSubjects(this.options.sql, lane);
      lane.nextDueAt = this.now();
    }
  }

  /** Reads on for a lane that is behind, and what is due again. */
  private feed(subscription: SubscriptionLanes, lane: Lane, now: number): void {
    const after = lane.wantsToRead();
    if (after !== undefined) void this.readOn(subscription, lane, after);
    const { status } = subscription;
    const wantsProbe =
      status === 'failing' &&
      subscription.inFlight === 0 &&
      subscription.maySend(now) &&
      subscription.lanes().every((each) => !each.behind && !each.hasJob());
    const wantsDue = status === 'active' && lane.retries.length === 0 && lane.nextDueAt <= now;
    if (!lane.loadingDue && (wantsProbe || wantsDue)) void this.loadDue(subscription, lane, wantsProbe);
  }

  private async readOn(subscription: SubscriptionLanes, lane: Lane, after: number): Promise<void> {
    const reading = lane.beginRead();
    try {
      const { events, complete } = await readPortion(this.options.sql, lane, subscription.live.laneNo, after);
      lane.endRead(reading, events, complete);
    } catch (error) {
      this.options.log.warn({ err: error }, 'lane.read_failed');
      await delay(RELOAD_MS);
      lane.abandonRead(reading);
    }
    this.pump(subscription);
  }

  private async loadDue(subscription: SubscriptionLanes, lane: Lane, probe: boolean): Promise<void> {
    lane.loadingDue = true;
    try {
      const { revivedAt } = subscription.judgement;
      const { jobs, nextDueAt } = await readDue(this.options.sql, lane, {
        now: new Date(this.now()),
        revivedAt: revivedAt === null ? null : new Date(revivedAt),
        limit: probe ? 1 : DUE_PORTION,
        probe,
      });
      const isNew = ({ event }: Job): boolean =>
        !lane.busy.has(event.seq) && !subscription.forced.some((forced) => forced.event.seq === event.seq);
      lane.retries.push(...jobs.filter(isNew));
      lane.nextDueAt = nextDueAt;
      if (probe && jobs.length === 0) return;
    } catch (error) {
      this.options.log.warn({ err: error }, 'lane.due_read_failed');
      await delay(RELOAD_MS);
    } finally {
      lane.loadingDue = false;
    }
    this.pump(subscription);
  }

  /** What is under way pumps when it ends; here is noted what only time brings. */
  private remember(subscription: SubscriptionLanes, now: number): void {
    const { holdUntil } = subscription.judgement;
    const dueAts = subscription.lanes().map((lane) => {
      if (lane.hasJob()) return now;
      return subscription.status === 'active' && !lane.loadingDue ? lane.nextDueAt : Infinity;
    });
    const heldUntil = holdUntil !== null && holdUntil > now ? holdUntil : 0;
    const probes = subscription.status === 'failing' && subscription.inFlight === 0;
    const wakeAt = Math.max(heldUntil, probes && heldUntil > 0 ? 0 : Math.min(...dueAts));
    if (wakeAt === Infinity || (wakeAt <= now && subscription.inFlight > 0)) this.timed.delete(subscription);
    else this.timed.set(subscription, wakeAt);
  }

  private pumpDue(): void {
    const now = this.now();
    const due = [...this.timed].filter(([, wakeAt]) => wakeAt <= now);
    for (const [subscription] of due) {
      this.timed.delete(subscription);
      this.pump(subscription);
    }
  }

  private pumpAfterRecording(subscriptions: Set<SubscriptionLanes>): void {
    for (const subscription of subscriptions) this.pump(subscription);
    if (this.recorder.isFull) return;
    const stalled = [...this.stalled];
    this.stalled.clear();
    for (const subscription of stalled) this.pump(subscription);
  }

  private async hasNewSpans({ live }: SubscriptionLanes): Promise<boolean> {
    const rows = await this.options.sql.$queryRawUnsafe<unknown[]>(
      'select 1 from span where lane_no = $1::bigint and not joined limit 1',
      live.laneNo,
    );
    return rows.length > 0;
  }

  /** Waits until nothing of a subscription is under way or unrecorded, and begins nothing new. */
  private async quiesce(subscription: SubscriptionLanes): Promise<void> {
    subscription.suspended = true;
    while (subscription.inFlight > 0 && !subscription.dropped) await delay(10);
    await this.recorder.drain();
  }
}

/** A success in a replay settles the original: it is not sent again from the live lane. */
function forget(live: Lane, seq: number): void {
  const index = live.retries.findIndex(({ event }) => event.seq === seq);
  if (index !== -1) live.retries.splice(index, 1);
}

const keyOf = (laneNo: number, seq: number): string => `${laneNo}.${seq}`;

const isLive = async (sql: Sql, subscriptionId: string): Promise<boolean> => {
  const rows = await sql.$queryRawUnsafe<unknown[]>(
    `select 1 from subscription where subscription_id = $1 and status <> 'deleted'`,
    subscriptionId,
  );
  return rows.length > 0;
};

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
