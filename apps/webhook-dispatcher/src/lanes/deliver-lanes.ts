import { setTimeout as delay } from 'node:timers/promises';
import type { SubscriptionReportData } from '@assistance/types';
import type { Logger, Part, ShardLeases, Sql } from '@assistance/service-kit';
import type { DeliverySettings } from '../config.ts';
import type { DispatcherMetrics } from '../dispatcher-metrics.ts';
import type { AttemptOutcome } from '../sending/attempt-outcome.ts';
import type { WebhookSender } from '../sending/send-webhook.ts';
import { stepAfter, stepByHand } from './delivery-step.ts';
import { judgeAfter } from './judge-subscription.ts';
import type { Job, Lane } from './lane.ts';
import { readDue, readPortion } from './read-lane.ts';
import { OutcomeRecorder } from './record-outcomes.ts';
import { reportOf } from './report-of.ts';
import { OrderPerSubject } from './order-per-subject.ts';
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
  readonly order: OrderPerSubject;
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
    const { sql, leases, log } = options;
    this.order = new OrderPerSubject({
      ...{ sql, leases, log, now: this.now },
      onReleased: (subscription) => this.pump(subscription),
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
    if (subscription.dropped || subscription.suspended) return;
    if (!leases.holds(subscription.shard)) {
      // Perhaps it is only late in being renewed; if it is lost, this is forgotten.
      this.timed.set(subscription, this.now() + AGAIN_MS);
      return;
    }
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
    const endsOriginalHead = settlesOriginal && subscription.live.settleOriginal(event);
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
        if (step.state === 'retry') lane.becomesDue(step.dueAt);
        else if (inSubjectOrder) void this.order.release(subscription, lane, event.subject);
        if (endsOriginalHead) void this.order.release(subscription, subscription.live, event.subject);
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
    this.recorder.addReport({ subscription, record: reportOf('subscription.status_judged', data, now) });
    this.options.log.info(
      { subscriptionId, status: judgement.judged, reason: data.reason?.code },
      'subscription.judged',
    );
    // What was looked up as due is not what was tried longest ago.
    if (judgement.judged === 'failing') for (const lane of subscription.lanes()) lane.forgetRetries();
    if (judgement.revivedAt === now) for (const lane of subscription.lanes()) lane.becomesDue(now);
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
    if (!lane.isLookingUpDue && (wantsProbe || wantsDue)) void this.loadDue(subscription, lane, wantsProbe);
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
    lane.beginLookingUpDue();
    let nextDueAt = 0; // unless it is found out, it is looked up again
    try {
      const { revivedAt } = subscription.judgement;
      const due = await readDue(this.options.sql, lane, {
        now: new Date(this.now()),
        revivedAt: revivedAt === null ? null : new Date(revivedAt),
        limit: probe ? 1 : DUE_PORTION,
        probe,
      });
      const isNew = ({ event }: Job): boolean =>
        !lane.busy.has(event.seq) && !subscription.forced.some((forced) => forced.event.seq === event.seq);
      if (probe === (subscription.status === 'failing')) {
        lane.retries.push(...due.jobs.filter(isNew));
        nextDueAt = due.nextDueAt;
        if (probe && due.jobs.length === 0) return;
      }
    } catch (error) {
      this.options.log.warn({ err: error }, 'lane.due_read_failed');
      await delay(AGAIN_MS);
    } finally {
      lane.endLookingUpDue(nextDueAt);
    }
    this.pump(subscription);
  }

  /** What is under way pumps when it ends; here is noted what only time brings. */
  private remember(subscription: SubscriptionLanes, now: number): void {
    const { holdUntil } = subscription.judgement;
    const dueAts = subscription.lanes().map((lane) => {
      if (lane.hasJob()) return now;
      return subscription.status === 'active' && !lane.isLookingUpDue ? lane.nextDueAt : Infinity;
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
