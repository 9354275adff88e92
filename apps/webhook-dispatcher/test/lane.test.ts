import { expect, test } from '@jest/globals';
import { Lane, type SubjectOrder } from '../src/lanes/lane.ts';
import type { LogEvent } from '../src/log/event-log.ts';

const event = (seq: number, subject: string): LogEvent => ({
  seq,
  type: 'document.available',
  onlyLane: null,
  webhookId: `evt_${seq}`,
  subject,
  body: Buffer.from('{}'),
});

function laneThatRead(events: LogEvent[]): Lane {
  const lane = new Lane({
    laneNo: 1,
    replay: null,
    spans: [{ type: 'document.available', fromSeq: 1, toSeq: null }],
    cursor: 0,
    recordedBeyond: [],
  });
  lane.endRead(lane.beginRead(), events, true);
  return lane;
}

const inOrder = (live: Lane): SubjectOrder => ({ inFlight: new Map(), live });
const takenOf = (lane: Lane, order: SubjectOrder = null): number[] => {
  const taken: number[] = [];
  for (let job = lane.takeJob(order); job !== undefined; job = lane.takeJob(order)) taken.push(job.event.seq);
  return taken;
};

test('what had begun out of order is not begun again after what waited was forgotten, and the cursor waits for it', () => {
  const events = [event(1, 'a'), event(2, 'a'), event(3, 'b')];
  const lane = laneThatRead(events);
  for (const subject of ['a', 'b']) {
    lane.takeJob(inOrder(lane));
    lane.heldSubjects.set(subject, { seq: 0, is: 'in_flight' });
  }
  lane.settle(3);
  lane.forgetWaiting();
  expect(lane.wantsToRead()).toBe(1);
  lane.endRead(lane.beginRead(), events, true);
  lane.heldSubjects.clear();
  lane.settle(1);
  expect(lane.cursor).toBe(1);
  expect(takenOf(lane, inOrder(lane))).toEqual([2]);
  lane.settle(2);
  expect(lane.cursor).toBe(3);
});

test('a delivery taken before its turn is passed over in its turn, and holds the cursor until it is recorded', () => {
  const lane = laneThatRead([event(1, 'a')]);
  expect(lane.takeUnread(event(3, 'c'))).toMatchObject({ fresh: true, event: { seq: 3 } });
  expect(lane.takeUnread(event(3, 'c'))).toBeUndefined();
  for (const each of [event(2, 'b'), event(3, 'c'), event(4, 'd')]) lane.offer(each);
  expect(takenOf(lane)).toEqual([1, 2, 4]);
  for (const seq of [1, 2, 4]) lane.settle(seq);
  expect(lane.cursor).toBe(2);
  lane.settle(3);
  expect(lane.cursor).toBe(4);
});

test('one taken before its turn and recorded before the lane comes to it is passed over', () => {
  const lane = laneThatRead([]);
  lane.takeUnread(event(2, 'b'));
  lane.settle(2);
  expect(lane.cursor).toBe(0);
  for (const each of [event(1, 'a'), event(2, 'b')]) lane.offer(each);
  expect(takenOf(lane)).toEqual([1]);
});

test('what is being looked up for an attempt by hand is not begun meanwhile', () => {
  const lane = laneThatRead([event(1, 'a'), event(2, 'b')]);
  lane.busy.add(1);
  expect(takenOf(lane)).toEqual([2]);
  expect(lane.takeNow(1)).toMatchObject({ event: { seq: 1 } });
});

test('retries that a pause forgets are looked up again', () => {
  const lane = laneThatRead([]);
  lane.retries.push({
    lane,
    event: event(1, 'a'),
    tried: { attempts: 1, counted: 1, wasDead: false },
    fresh: false,
  });
  lane.forgetWaiting();
  expect(lane.hasJob()).toBe(false);
  expect(lane.nextDueAt).toBe(0);
});

test.each([
  ['nothing else is due', Infinity],
  ['something is due later', 2_000],
])('what becomes due while that is looked up is not forgotten (%s)', (_what, found) => {
  const lane = laneThatRead([]);
  lane.becomesDue(500);
  lane.beginLookingUpDue();
  lane.becomesDue(1_000);
  lane.endLookingUpDue(found);
  expect(lane.nextDueAt).toBe(1_000);
});

test('the cursor does not pass over what waited and was forgotten, whatever is recorded behind it', () => {
  const lane = laneThatRead([event(1, 'a'), event(2, 'a'), event(3, 'b')]);
  for (const subject of ['a', 'b']) {
    lane.takeJob(inOrder(lane));
    lane.heldSubjects.set(subject, { seq: 0, is: 'in_flight' });
  }
  lane.forgetWaiting();
  for (const seq of [1, 3]) lane.settle(seq);
  expect(lane.cursor).toBe(1);
  lane.heldSubjects.clear();
  lane.endRead(lane.beginRead(), [event(2, 'a'), event(3, 'b')], true);
  expect(takenOf(lane, inOrder(lane))).toEqual([2]);
  lane.settle(2);
  expect(lane.cursor).toBe(3);
});

test('what was forgotten and is no longer there, or no longer taken, does not hold the cursor', () => {
  const lane = laneThatRead([event(1, 'a'), event(2, 'b')]);
  lane.forgetWaiting();
  lane.endRead(lane.beginRead(), [event(2, 'b')], true);
  expect(takenOf(lane)).toEqual([2]);
  lane.settle(2);
  expect(lane.cursor).toBe(2);
});

test('one that was forgotten, taken by hand and recorded is passed over when it is read again', () => {
  const lane = laneThatRead([event(1, 'a'), event(2, 'b')]);
  lane.forgetWaiting();
  lane.takeUnread(event(1, 'a'));
  lane.settle(1);
  lane.endRead(lane.beginRead(), [event(1, 'a'), event(2, 'b')], true);
  expect(takenOf(lane)).toEqual([2]);
  lane.settle(2);
  expect(lane.cursor).toBe(2);
});
