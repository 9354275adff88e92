import { setTimeout as delay } from 'node:timers/promises';
import {
  shardOf,
  type KeyRing,
  type Lease,
  type Logger,
  type ShardLeases,
  type Sql,
} from '@assistance/service-kit';
import type { LogEvent } from '../log/event-log.ts';
import { LANE_SHARDS } from '../mirror/lane-shards.ts';
import type { WebhookSender } from '../sending/send-webhook.ts';
import type { LaneDelivery } from './deliver-lanes.ts';
import { joinSpans } from './join-spans.ts';
import { freshJudgement } from './judge-subscription.ts';
import type { Lane } from './lane.ts';
import { loadShards, loadSubscription } from './load-lanes.ts';
import { prepareRetry } from './prepare-retry.ts';
import { keyOf, type SubscriptionLanes } from './subscription-lanes.ts';

const LET_GO_MS = 1_000;
const RELOAD_MS = 500;

export interface LaneOwnerOptions {
  sql: Sql;
  leases: ShardLeases;
  delivery: LaneDelivery;
  keyRing: KeyRing;
  sender: WebhookSender;
  log: Logger;
}

/**
 * Knows the lanes of the shards that this instance has leased: loads them, gives them the new events of the log, applies
 * what their owners say, and lets go of them. Their delivery is `LaneDelivery`'s.
 */
export class LaneOwner {
  private readonly options: LaneOwnerOptions;
  private readonly delivery: LaneDelivery;
  private readonly subscriptions = new Map<string, SubscriptionLanes>();
  private readonly takers = new Map<string, Map<Lane, SubscriptionLanes>>();
  private acquired: number[] = [];
  /** Loads follow one another, and what an owner said is applied after them: an old picture never replaces a new one. */
  private loading: Promise<void> = Promise.resolve();

  constructor(options: LaneOwnerOptions) {
    this.options = options;
    this.delivery = options.delivery;
  }

  /** The subscriptions whose replays have something to tell. */
  owned(): Iterable<SubscriptionLanes> {
    return this.subscriptions.values();
  }

  /** Shards are now this instance's: their lanes are loaded together. */
  take({ shard }: Lease): void {
    this.acquired.push(shard);
    if (this.acquired.length > 1) return;
    this.loading = this.loading.then(() => this.loadAcquired());
  }

  /** A shard goes to another instance: ends what is under way, within a second, and lets go. */
  async letGo({ shard }: Lease): Promise<void> {
    const mine = [...this.subscriptions.values()].filter((subscription) => subscription.shard === shard);
    for (const subscription of mine) subscription.suspended = true;
    const overdueAt = this.delivery.now() + LET_GO_MS;
    while (mine.some(({ inFlight }) => inFlight > 0) && this.delivery.now() < overdueAt) await delay(10);
    if (this.options.leases.holds(shard)) await this.delivery.recorder.drain();
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
    for (const subscription of touched) this.delivery.pump(subscription);
  }

  /** Every lane reads for itself from where it is, as if it had just been loaded. */
  readAnew(): void {
    for (const subscription of this.subscriptions.values()) {
      for (const lane of subscription.lanes()) lane.forgetWaiting();
      this.delivery.pump(subscription);
    }
  }

  /**
   * The mirror learned something of a subscription: applies it to its lanes. With `anew`, all that is in memory of it is
   * ended, which may take as long as an attempt, and read again. False when the shard was not held all the while: then it
   * is to be asked again, by whoever holds it.
   */
  async refresh(subscriptionId: string, { anew } = { anew: false }): Promise<boolean> {
    const { sql, leases } = this.options;
    await this.loading;
    const shard = shardOf(subscriptionId, LANE_SHARDS);
    const epoch = leases.epochOf(shard);
    if (epoch === undefined) return false;
    const known = this.subscriptions.get(subscriptionId);
    if (known !== undefined && (anew || (await this.hasNewSpans(known)))) await this.quiesce(known);
    await joinSpans(sql, { subscriptionId });
    const loaded = await loadSubscription(this.options, subscriptionId);
    if (leases.epochOf(shard) !== epoch) return false;
    if (loaded === undefined) {
      if (known !== undefined) this.remove(known);
      return true;
    }
    if (known === undefined || known.suspended) {
      if (known !== undefined) this.remove(known);
      await this.adopt(loaded, epoch);
      return true;
    }
    // What waits for its next attempt holds back its subject from now on.
    if (!known.bySubject && loaded.word.ordering === 'subject') {
      return this.refresh(subscriptionId, { anew: true });
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
    if (leftSubjectOrder) await this.delivery.order.end(known, { shard, owner: leases.owner, epoch });
    this.followEpoch(known);
    this.delivery.pump(known);
    return true;
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
          this.delivery.pump(subscription);
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
    const epochs = new Map(this.acquired.splice(0).map((shard) => [shard, leases.acquiredEpochOf(shard)]));
    const shards = [...epochs.keys()].filter((shard) => epochs.get(shard) !== undefined);
    if (shards.length === 0) return;
    try {
      await joinSpans(sql, { shards });
      const loaded = await loadShards(this.options, shards);
      for (const subscription of loaded) await this.adopt(subscription, epochs.get(subscription.shard));
      log.info({ shards: shards.length, subscriptions: loaded.length }, 'lanes.loaded');
    } catch (error) {
      log.warn({ err: error }, 'lanes.not_loaded');
      await delay(RELOAD_MS);
      this.acquired.push(...shards);
      return this.loadAcquired();
    }
  }

  /**
   * What was loaded in an epoch of its shard's lease is of use only in that epoch. Nothing of it begins before it is known
   * whose subjects wait for another attempt: with order per subject the next event would overtake them.
   */
  private async adopt(subscription: SubscriptionLanes, epoch: bigint | undefined): Promise<void> {
    const { subscriptionId, shard } = subscription;
    const { leases } = this.options;
    if (epoch === undefined) return;
    const proof = { shard, owner: leases.owner, epoch };
    if (subscription.bySubject && !(await this.delivery.order.load(subscription, proof))) return;
    const isMine = leases.acquiredEpochOf(shard) === epoch;
    if (!isMine || this.subscriptions.has(subscriptionId)) return;
    this.subscriptions.set(subscriptionId, subscription);
    this.index(subscription);
    this.followEpoch(subscription);
    this.delivery.pump(subscription);
  }

  private drop(shard: number): void {
    for (const subscription of this.subscriptions.values()) {
      if (subscription.shard !== shard) continue;
      subscription.dropped = true;
      this.remove(subscription);
    }
  }

  /** What was not recorded is known only here: if the shard is still this instance's, its lanes are loaded anew. */
  lose(shard: number): void {
    this.drop(shard);
    const epoch = this.options.leases.acquiredEpochOf(shard);
    if (epoch !== undefined) this.take({ shard, epoch });
  }

  private remove(subscription: SubscriptionLanes): void {
    subscription.suspended = true;
    for (const settle of [...subscription.askedByHand.values()]) settle('later');
    for (const lane of subscription.lanes()) lane.forgetWaiting();
    this.subscriptions.delete(subscription.subscriptionId);
    this.delivery.forget(subscription);
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
    const revivedAt = subscription.judgement.judged === 'active' ? null : this.delivery.now();
    subscription.judgement = { ...freshJudgement(statusEpoch), revivedAt };
    if (revivedAt !== null) for (const lane of subscription.lanes()) lane.becomesDue(revivedAt);
    this.delivery.recorder.addJudgement(subscription);
  }

  private async hasNewSpans({ live }: SubscriptionLanes): Promise<boolean> {
    const rows = await this.options.sql.$queryRawUnsafe<unknown[]>(
      'select 1 from span where lane_no = $1::bigint and not joined limit 1',
      live.laneNo,
    );
    return rows.length > 0;
  }

  /** Waits until nothing of a subscription is under way, unrecorded or being released, and begins nothing new. */
  private async quiesce(subscription: SubscriptionLanes): Promise<void> {
    subscription.suspended = true;
    while (subscription.inFlight > 0 && !subscription.dropped) await delay(10);
    await this.delivery.recorder.drain();
    while (subscription.releasing > 0 && !subscription.dropped) await delay(10);
  }
}

const isLive = async (sql: Sql, subscriptionId: string): Promise<boolean> => {
  const rows = await sql.$queryRawUnsafe<unknown[]>(
    `select 1 from subscription where subscription_id = $1 and status <> 'deleted'`,
    subscriptionId,
  );
  return rows.length > 0;
};
