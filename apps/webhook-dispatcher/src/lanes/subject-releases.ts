import { setTimeout as delay } from 'node:timers/promises';
import type { Logger, ShardLeases, Sql } from '@assistance/service-kit';
import type { Lane } from './lane.ts';
import { releaseSubject } from './read-lane.ts';
import type { SubscriptionLanes } from './subscription-lanes.ts';

const AGAIN_MS = 500;

/** With order per subject: lets the next delivery of a subject go once the one before it is recorded as settled. */
export class SubjectReleases {
  private readonly options: {
    sql: Sql;
    leases: ShardLeases;
    log: Logger;
    now: () => number;
    /** Something of the subscription may begin. */
    onReleased: (subscription: SubscriptionLanes) => void;
  };

  constructor(options: SubjectReleases['options']) {
    this.options = options;
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
    const { sql, leases, log, now } = this.options;
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
      if (typeof next === 'number') {
        lane.heldSubjects.set(subject, { seq: next, is: 'retrying' });
        lane.nextDueAt = now();
      }
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
