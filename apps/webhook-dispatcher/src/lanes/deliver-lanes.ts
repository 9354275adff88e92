import { setTimeout as delay } from 'node:timers/promises';
import { topics, type SubscriptionReportData } from '@assistance/types';
import {
  cloudEventOf,
  newId,
  structuredRecord,
  type Logger,
  type Part,
  type ShardLeases,
  type Sql,
} from '@assistance/service-kit';
import type { DeliverySettings } from '../config.ts';
import type { DispatcherMetrics } from '../dispatcher-metrics.ts';
import type { LogEvent } from '../log/event-log.ts';
import type { AttemptOutcome } from '../sending/attempt-outcome.ts';
import type { WebhookSender } from '../sending/send-webhook.ts';
import { stepAfter, stepByHand } from './delivery-step.ts';
import { judgeAfter } from './judge-subscription.ts';
import type { Job, Lane } from './lane.ts';
import { readDue, readPortion, releaseSubject } from './read-lane.ts';
import { OutcomeRecorder } from './record-outcomes.ts';
import { keyOf, type SubscriptionLanes } from './subscription-lanes.ts';

const TICK_MS = 20;
const DUE_PORTION = 32;
const AGAIN_MS = 500;

export interface LaneDeliveryOptions {
  sql: Sql;
  leases: ShardLeases;
  sender: WebhookSender;
  settings: DeliverySettings;
  metrics: DispatcherMetrics;
  log: Logger;
  /** Outbox rows were committed. */
  onReported: () => void;
  /** These shards' recordings were refused. */
  onLost: (shards: number[]) => void;
  now?: () => number;
  random?: () => number;
}

/**
 * Begins deliveries, has their outcomes recorded, and sees to what is due again. Everything that decides is in `Lane`,
 * `SubscriptionLanes`, `judgeAfter` and `stepAfter`; here it meets the network, the database and the clock.
 */
export class LaneDelivery implements Part {
  readonly name = 'lane-delivery';
  readonly recorder: OutcomeRecorder;
  readonly now: () => number;
  private readonly options: LaneDeliveryOptions;
  private readonly random: () => number;
  private readonly wanted = new Set<SubscriptionLanes>();
  private readonly stalled = new Set<SubscriptionLanes>();
  private readonly timed = new Map<SubscriptionLanes, number>();
  private timer: NodeJS.Timeout | undefined;
  /** Of all subscriptions. */
  private inFlight = 0;

  constructor(options: LaneDeliveryOptions) {
    this.options = options;
    this.now = options.now ?? Date.now;
    this.random = options.random ?? Math.random;
    this.recorder = new OutcomeRecorder({
      sql: options.sql,
      leases: options.leases,
      log: options.log,
      onLost: options.onLost,
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

  /** Begins nothing more of it on its own account. */
  forget(subscription: SubscriptionLanes): void {
    this.timed.delete(subscription);
    this.stalled.delete(subscription);
    this.wanted.delete(subscription);
  }

  /**
   * Begins what may begin, reads what is wanted, and remembers when to look again: at the end of this turn of the event
   * loop, once for all that happened in it. Answers come in bunches, and what they make room for leaves as one.
   */
  pump(subscription: SubscriptionLanes): void {
    if (this.wanted.size === 0) setImmediate(() => this.pumpWanted());
    this.wanted.add(subscription);
  }

  /** One's fault stays one's own. */
  private pumpWanted(): void {
    const wanted = [...this.wanted];
    this.wanted.clear();
    for (const subscription of wanted) {
      try {
        this.pumpOne(subscription);
      } catch (error) {
        const { subscriptionId } = subscription;
        this.options.log.error({ subscriptionId, err: error }, 'subscription.pump_failed');
        this.timed.set(subscription, this.now() + AGAIN_MS);
      }
    }
  }

  private pumpOne(subscription: SubscriptionLanes): void {
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
    while (this.inFlight < settings.maxInFlight) {
      const job = subscription.next(now, settings.laneConcurrency);
      if (job === undefined) break;
      this.begin(subscription, job);
    }
    if (this.inFlight >= settings.maxInFlight) this.stalled.add(subscription);
    for (const lane of subscription.lanes()) this.feed(subscription, lane, now);
    this.remember(subscription, now);
  }

  private begin(subscription: SubscriptionLanes, job: Job): void {
    const { sender, metrics } = this.options;
    subscription.began(job);
    this.inFlight += 1;
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
        this.inFlight -= 1;
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
    const isNews = !lane.settledElsewhere.delete(event.seq) || fresh || nextStep.state === 'delivered';
    const step = !isNews
      ? ({ state: 'kept' } as const)
      : byHand === undefined
        ? nextStep
        : stepByHand(byHand, nextStep);
    const inSubjectOrder = subscription.bySubject && byHand?.aside !== true;
    const attemptNumber = tried.attempts + 1;
    const settlesOriginal = step.state === 'delivered' && lane.replay !== null;
    const endsOriginalHead = settlesOriginal && settleOriginal(subscription.live, event);
    if (inSubjectOrder) {
      const is = step.state === 'retry' ? 'retrying' : 'in_flight';
      lane.heldSubjects.set(event.subject, { seq: event.seq, is });
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
        if (endsOriginalHead) void this.release(subscription, subscription.live, event.subject);
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
    const data: SubscriptionReportData<'subscription.status_judged'> = {
      subscriptionId,
      statusEpoch: judgement.epoch,
      number: subscription.nextReportNumber(),
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
    // What was looked up as due is not what was tried longest ago.
    if (judgement.judged === 'failing') for (const lane of subscription.lanes()) lane.forgetRetries();
    if (judgement.revivedAt === now) for (const lane of subscription.lanes()) lane.nextDueAt = now;
  }

  /** With order per subject: what is behind a delivery that waits for its next attempt is recorded, and the lane goes on. */
  private recordBlocked(subscription: SubscriptionLanes): void {
    for (const lane of subscription.lanes()) {
      for (const { seq, subject } of lane.takeBlocked(subscription.live)) {
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

  /** Until it is known what comes next of the subject, it stays held: a later one must not go first. */
  private async release(
    subscription: SubscriptionLanes,
    lane: Lane,
    subject: string,
    again = false,
  ): Promise<void> {
    const { sql, leases, log } = this.options;
    const { shard } = subscription;
    // What is blocked behind the live lane waits for that.
    if (lane.behindLive.has(subject)) {
      lane.heldSubjects.delete(subject);
      return this.pump(subscription);
    }
    const epoch = leases.epochOf(shard);
    try {
      const next =
        epoch === undefined
          ? undefined
          : await releaseSubject(sql, lane, subject, { shard, owner: leases.owner, epoch }, again);
      if (typeof next === 'number') {
        lane.heldSubjects.set(subject, { seq: next, is: 'retrying' });
        lane.nextDueAt = this.now();
      }
      if (next === null) {
        lane.heldSubjects.delete(subject);
        if (lane === subscription.live) this.releaseBehindLive(subscription, subject);
      }
      if (next !== undefined) return this.pump(subscription);
    } catch (error) {
      log.warn({ err: error }, 'lane.release_failed');
    }
    await delay(AGAIN_MS);
    if (!subscription.dropped) await this.release(subscription, lane, subject, true);
  }

  private releaseBehindLive(subscription: SubscriptionLanes, subject: string): void {
    for (const replay of subscription.replays.values()) {
      const hasHeadOfItsOwn = replay.heldSubjects.has(subject);
      if (!replay.behindLive.delete(subject) || hasHeadOfItsOwn) continue;
      replay.heldSubjects.set(subject, { seq: 0, is: 'in_flight' });
      void this.release(subscription, replay, subject);
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
      await delay(AGAIN_MS);
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
      const isStill = probe === (subscription.status === 'failing');
      if (isStill) lane.retries.push(...jobs.filter(isNew));
      lane.nextDueAt = isStill ? nextDueAt : 0;
      if (probe && isStill && jobs.length === 0) return;
    } catch (error) {
      this.options.log.warn({ err: error }, 'lane.due_read_failed');
      await delay(AGAIN_MS);
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
    for (const subscription of this.stalled) this.pump(subscription);
    this.stalled.clear();
  }
}

/**
 * A success in a replay settles the original: it is not sent again from the live lane, and its failure is no news. Answers
 * whether others of its subject waited behind its next attempt; until that is recorded, nothing more is blocked behind it.
 */
function settleOriginal(live: Lane, { seq, subject }: LogEvent): boolean {
  if (live.busy.has(seq)) live.settledElsewhere.add(seq);
  const index = live.retries.findIndex(({ event }) => event.seq === seq);
  if (index !== -1) live.retries.splice(index, 1);
  const head = live.heldSubjects.get(subject);
  if (head?.is !== 'retrying' || head.seq !== seq) return false;
  live.heldSubjects.set(subject, { seq, is: 'in_flight' });
  return true;
}
