import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, ShardLeases, Sql } from '@assistance/service-kit';
import type { Lane } from './lane.ts';
import { readHeldSubjects, releaseAllSubjects, releaseSubject, type LeaseProof } from './release-subject.ts';
import type { SubscriptionLanes } from './subscription-lanes.ts';

const AGAIN_MS = 500;

/**
 * Order per subject, as it is recorded: which delivery of a subject the others wait for, and lets the next one go once that is
 * recorded as settled.
 */
export class OrderPerSubject {
  private readonly options: {
    sql: Sql;
    leases: ShardLeases;
    log: Logger;
    now: () => number;
    /** Something of the subscription may begin. */
    onReleased: (subscription: SubscriptionLanes) => void;
  };

  constructor(options: OrderPerSubject['options']) {
    this.options = options;
  }

  /**
   * Learns what waits in the lanes of a subscription that is being loaded. False when the lease has ended: whoever has it
   * now may be about to release what is blocked here.
   */
  async load(subscription: SubscriptionLanes, proof: LeaseProof): Promise<boolean> {
    const { sql } = this.options;
    const { live } = subscription;
    for (const lane of subscription.lanes()) {
      for (const { subject, head } of await readHeldSubjects(sql, lane)) {
        const isBehindLive = lane !== live && live.heldSubjects.has(subject);
        if (isBehindLive) lane.behindLive.add(subject);
        const seq = head ?? (isBehindLive ? null : await releaseSubject(sql, lane, subject, proof));
        if (seq === undefined) return false;
        if (seq !== null) this.becomesHead(lane, subject, seq);
      }
    }
    return true;
  }

  /** Without order per subject nothing waits for another. */
  async end(subscription: SubscriptionLanes, proof: LeaseProof): Promise<void> {
    const { sql, now } = this.options;
    for (const lane of subscription.lanes()) {
      lane.heldSubjects.clear();
      lane.behindLive.clear();
      await releaseAllSubjects(sql, lane, proof);
      lane.becomesDue(now());
    }
  }

  /** Until it is known what comes next of the subject, it stays held: a later one must not go first. */
  async release(subscription: SubscriptionLanes, lane: Lane, subject: string): Promise<void> {
    subscription.releasing += 1;
    try {
      for (let again = false; !(await this.tryRelease(subscription, lane, subject, again)); again = true) {
        await delay(AGAIN_MS);
        if (subscription.suspended) return;
      }
    } finally {
      subscription.releasing -= 1;
    }
    this.options.onReleased(subscription);
  }

  /** False when it is still not known. */
  private async tryRelease(
    subscription: SubscriptionLanes,
    lane: Lane,
    subject: string,
    again: boolean,
  ): Promise<boolean> {
    const { sql, leases, log } = this.options;
    // What is blocked behind the live lane waits for that.
    if (lane.behindLive.has(subject)) {
      lane.heldSubjects.delete(subject);
      return true;
    }
    const { shard } = subscription;
    const epoch = leases.epochOf(shard);
    try {
      const next =
        epoch === undefined
          ? undefined
          : await releaseSubject(sql, lane, subject, { shard, owner: leases.owner, epoch }, again);
      if (typeof next === 'number') this.becomesHead(lane, subject, next);
      if (next === null) {
        lane.heldSubjects.delete(subject);
        if (lane === subscription.live) this.releaseBehindLive(subscription, subject);
      }
      return next !== undefined;
    } catch (error) {
      log.warn({ err: error }, 'lane.release_failed');
      return false;
    }
  }

  /** It is due, and the others of its subject wait for it. */
  private becomesHead(lane: Lane, subject: string, seq: number): void {
    lane.heldSubjects.set(subject, { seq, is: 'retrying' });
    lane.becomesDue(this.options.now());
  }

  /** The live lane owes nothing of the subject any more: replays that waited for that go on. */
  private releaseBehindLive(subscription: SubscriptionLanes, subject: string): void {
    for (const replay of subscription.replays.values()) {
      const hasHeadOfItsOwn = replay.heldSubjects.has(subject);
      if (!replay.behindLive.delete(subject) || hasHeadOfItsOwn) continue;
      replay.heldSubjects.set(subject, { seq: 0, is: 'in_flight' });
      void this.release(subscription, replay, subject);
    }
  }
}
