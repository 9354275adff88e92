import { expect, test } from '@jest/globals';
import { freshJudgement } from '../src/lanes/judge-subscription.ts';
import { Lane, type Job } from '../src/lanes/lane.ts';
import { SubscriptionLanes } from '../src/lanes/subscription-lanes.ts';
import type { LogEvent } from '../src/log/event-log.ts';

const MANY = 60;

function laneWith(laneNo: number, count: number, subject = (seq: number) => `doc_${seq}`): Lane {
  const events: LogEvent[] = Array.from({ length: count }, (_, i) => ({
    seq: i + 1,
    type: 'document.available',
    onlyLane: null,
    webhookId: `evt_${i + 1}`,
    subject: subject(i + 1),
    body: Buffer.from('{}'),
  }));
  const lane = new Lane({
    laneNo,
    replay: laneNo === 0 ? null : { replayId: `rep_${laneNo}`, mode: 'all', since: new Date(0) },
    spans: [{ type: 'document.available', fromSeq: 1, toSeq: null }],
    cursor: 0,
    recordedBeyond: [],
  });
  lane.endRead(lane.beginRead(), events, true);
  return lane;
}

/** One live lane, which is 0, and replays from 1 on. */
function subscriptionOf(live: Lane, ...replays: Lane[]): SubscriptionLanes {
  const subscription = new SubscriptionLanes({
    subscriptionId: 'sub_1',
    shard: 0,
    live,
    word: {
      status: 'active',
      statusEpoch: 1,
      ordering: 'none',
      target: { origin: 'https://example.org', path: '/', blocked: false },
      secrets: [],
    },
    judgement: freshJudgement(1),
    reportNumber: 0,
    madeAt: new Date(0),
  });
  for (const lane of replays) subscription.replays.set(lane.laneNo, lane);
  return subscription;
}

/** Begins what may begin; the lanes that had it, in order. */
function begin(subscription: SubscriptionLanes, concurrency: number): Job[] {
  const begun: Job[] = [];
  for (let job = subscription.next(0, concurrency); job !== undefined;) {
    subscription.began(job);
    begun.push(job);
    job = subscription.next(0, concurrency);
  }
  return begun;
}

const lanesOf = (jobs: Job[]): number[] => jobs.map(({ lane }) => lane.laneNo);
const replaysAmong = (jobs: Job[]): number => lanesOf(jobs).filter((laneNo) => laneNo > 0).length;

/** So many deliveries one after the other, each ended before the next begins. */
function deliver(subscription: SubscriptionLanes, count: number): Job[] {
  return Array.from({ length: count }, () => {
    const [job] = begin(subscription, 1);
    subscription.ended(job!);
    return job!;
  });
}

test('one at a time, replays and live deliveries take turns, and so do the replays', () => {
  const subscription = subscriptionOf(laneWith(0, MANY), laneWith(1, MANY), laneWith(2, MANY));
  expect(lanesOf(deliver(subscription, 8))).toEqual([0, 1, 0, 2, 0, 1, 0, 2]);
});

test.each([2, 3, 8])('of %i at once, replays have half while live deliveries wait', (concurrency) => {
  const subscription = subscriptionOf(laneWith(0, MANY), laneWith(1, MANY));
  const underWay = begin(subscription, concurrency);
  expect(underWay).toHaveLength(concurrency);
  expect(replaysAmong(underWay)).toBe(Math.floor(concurrency / 2));
  // Whichever ends, it stays so.
  for (let n = 0; n < 20; n++) {
    subscription.ended(underWay.splice((n * 7) % underWay.length, 1)[0]!);
    underWay.push(...begin(subscription, concurrency));
    expect(underWay).toHaveLength(concurrency);
    expect(replaysAmong(underWay)).toBe(Math.floor(concurrency / 2));
  }
});

test('where nothing live waits, replays have all of it', () => {
  const subscription = subscriptionOf(laneWith(0, 1), laneWith(1, MANY));
  expect(lanesOf(begin(subscription, 8))).toEqual([0, ...Array<number>(7).fill(1)]);
});

test('as long as it is not read what waits live, replays have no more than half', () => {
  const live = new Lane({
    ...{ laneNo: 0, replay: null, cursor: 0, recordedBeyond: [] },
    spans: [{ type: 'document.available', fromSeq: 1, toSeq: null }],
  });
  const subscription = subscriptionOf(live, laneWith(1, MANY));
  expect(lanesOf(begin(subscription, 8))).toEqual([1, 1, 1, 1]);
  live.endRead(live.beginRead(), [], true);
  expect(lanesOf(begin(subscription, 8))).toEqual([1, 1, 1, 1]);
});

test('what replays cannot use, because all of it is held by its subject, live deliveries have', () => {
  const subscription = subscriptionOf(
    laneWith(0, MANY),
    laneWith(1, MANY, () => 'another'),
  );
  subscription.changeWord({ ...subscription.word, ordering: 'subject' });
  expect(replaysAmong(begin(subscription, 8))).toBe(1);
  expect(subscription.inFlight).toBe(8);
});

test('in order per subject, a replay does not go before what the live lane has not delivered, or not read yet', () => {
  const [live, replay] = [laneWith(0, 4, () => 'one'), laneWith(1, 4, () => 'one')];
  const subscription = subscriptionOf(live, replay);
  subscription.changeWord({ ...subscription.word, ordering: 'subject' });
  replay.takeFresh(null);
  const [first] = begin(subscription, 8);
  expect([first?.lane, first?.event.seq]).toEqual([live, 1]);
  subscription.ended(first!);
  live.heldSubjects.set('one', { seq: 1, is: 'retrying' });
  expect(begin(subscription, 8)).toEqual([]);
  live.takeBlocked(live);
  expect(replay.takeBlocked(live).map(({ seq }) => seq)).toEqual([2, 3, 4]);
  expect([...replay.behindLive]).toEqual(['one']);

  const unread = new Lane({
    ...{ laneNo: 0, replay: null, cursor: 0, recordedBeyond: [] },
    spans: [{ type: 'document.available', fromSeq: 1, toSeq: null }],
  });
  const behind = subscriptionOf(unread, laneWith(1, 4));
  behind.changeWord({ ...behind.word, ordering: 'subject' });
  expect(begin(behind, 8)).toEqual([]);
});
