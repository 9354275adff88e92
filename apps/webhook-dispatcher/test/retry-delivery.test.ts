import { beforeEach, expect, test } from '@jest/globals';
import { delivery as deliverySchema, deliveryDetail, type Delivery } from '@assistance/types';
import { newId } from '@assistance/service-kit';
import { waitUntil, type Answer, type Receiver } from '@assistance/test-kit';
import { createLogReader } from './read-log.ts';
import { runDispatcher } from './start-dispatcher.ts';

const { surroundings, dispatcher } = await runDispatcher({
  RETRY_BASE_MS: '40',
  RETRY_FACTOR: '1.5',
  RETRY_MAX_ATTEMPTS: '2',
  DELIVERY_TIMEOUT_MS: '10000',
  FAILING_AFTER_MS: '3600000',
  RATE_LIMIT_PER_SECOND: '5000',
});
const log = createLogReader(surroundings, dispatcher);
let receiver: Receiver;

beforeEach(async () => {
  receiver = await surroundings.receive();
});

const idsReceived = (): string[] => receiver.received.map(({ headers }) => String(headers['webhook-id']));

async function subscribe() {
  const subscribed = await surroundings.subscribe({ callbackUrl: receiver.url });
  await log.waitForVersion(subscribed.record.subscriptionId, 1);
  return { ...subscribed, of: `subscriptionId=${subscribed.record.subscriptionId}` };
}

async function retry({ deliveryId }: Delivery): Promise<Delivery> {
  const { status, body } = await log.call(`/deliveries/${deliveryId}/retry`, { method: 'POST' });
  expect({ status, body }).toMatchObject({ status: 202 });
  return deliverySchema.parse(body);
}

const detailOf = ({ deliveryId }: Delivery) => log.read(deliveryDetail, `/deliveries/${deliveryId}`);

/** Nothing that was asked for is left undone. */
const waitUntilDone = (subscriptionId: string): Promise<unknown> =>
  waitUntil(async () => (await surroundings.prisma.laneCommand.count({ where: { subscriptionId } })) === 0);

/** A receiver that answers only when it is told to. */
function hold(): () => void {
  const waiting: ((answer: Answer) => void)[] = [];
  receiver.respond(() => new Promise((resolve) => waiting.push(resolve)));
  return () => {
    receiver.respond(() => ({}));
    for (const answer of waiting) answer({});
  };
}

test('a dead delivery stays dead when its retry fails, and is delivered when it succeeds', async () => {
  receiver.respond(() => ({ status: 500 }));
  const { of, record } = await subscribe();
  await surroundings.publishEvents(1);
  const [dead] = await log.deliveriesWith(`${of}&status=dead`, 1);
  expect(await retry(dead!)).toEqual(dead);
  await receiver.waitForCount(3);
  await waitUntilDone(record.subscriptionId);
  expect(await detailOf(dead!)).toMatchObject({ status: 'dead', attemptCount: 3 });

  receiver.respond(() => ({ status: 200 }));
  await retry(dead!);
  await log.deliveriesWith(`${of}&status=delivered`, 1);
  const detail = await detailOf(dead!);
  expect(detail).toMatchObject({
    status: 'delivered',
    attemptCount: 4,
    lastFailure: { reason: 'http_status' },
  });
  expect(detail.attempts.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'failed', 'succeeded']);
  expect(receiver.received).toHaveLength(4);
});

test('a delivered one is sent again and stays delivered, also when that fails', async () => {
  const { of, record } = await subscribe();
  const [id] = await surroundings.publishEvents(1);
  const [delivered] = await log.deliveriesWith(`${of}&status=delivered`, 1);
  await retry(delivered!);
  await receiver.waitForCount(2);
  await waitUntilDone(record.subscriptionId);
  receiver.respond(() => ({ status: 418 }));
  await retry(delivered!);
  await receiver.waitForCount(3);
  await waitUntilDone(record.subscriptionId);
  const detail = await detailOf(delivered!);
  expect(detail).toMatchObject({
    status: 'delivered',
    completedAt: delivered!.completedAt,
    attemptCount: 3,
    lastFailure: { reason: 'http_status', responseStatus: 418 },
  });
  expect(detail.attempts.map(({ attemptNumber, outcome }) => [attemptNumber, outcome])).toEqual([
    [1, 'succeeded'],
    [2, 'succeeded'],
    [3, 'failed'],
  ]);
  expect(idsReceived()).toEqual([id, id, id]);
});

test.each([
  ['held in memory', 20],
  ['that the lane has not read yet', 300],
])('a pending delivery %s is sent now, and not again in its turn', async (_where, count) => {
  const release = hold();
  const { of, record } = await subscribe();
  const ids = await surroundings.publishEvents(count);
  await receiver.waitForCount(8);
  await log.waitForEvents(ids);
  const [newest] = await log.deliveriesWith(`${of}&status=pending`, Math.min(count, 200));
  await retry(newest!);
  await retry(newest!);
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === newest!.eventId);
  await retry(newest!);
  // All but the first have found it in flight: later they would ask for one more.
  const { subscriptionId } = record;
  await waitUntil(
    async () => (await surroundings.prisma.laneCommand.count({ where: { subscriptionId } })) === 1,
  );
  release();
  await receiver.waitForCount(count);
  await waitUntil(async () => (await log.list(`${of}&status=pending`)).data.length === 0);
  await waitUntilDone(record.subscriptionId);
  expect(idsReceived().sort()).toEqual([...ids].sort());
});

test('one in flight is not sent twice', async () => {
  const release = hold();
  const { of, record } = await subscribe();
  const [id] = await surroundings.publishEvents(1);
  await receiver.waitForCount(1);
  const [pending] = await log.deliveriesWith(`${of}&status=pending`, 1);
  await retry(pending!);
  await waitUntilDone(record.subscriptionId);
  release();
  await log.deliveriesWith(`${of}&status=delivered`, 1);
  expect(idsReceived()).toEqual([id]);
});

test('while paused it is kept in the database, and goes first on resume', async () => {
  const { of, record, change } = await subscribe();
  const { subscriptionId } = record;
  await change({ status: 'paused', statusEpoch: 2 });
  await log.waitForVersion(subscriptionId, 2);
  const ids = await surroundings.publishEvents(200);
  await log.waitForEvents(ids);
  const pending = await log.deliveriesWith(`${of}&status=pending`, 200);
  const chosen = pending[40]!;
  await retry(chosen);
  await waitUntil(
    async () =>
      (await surroundings.prisma.laneCommand.count({ where: { subscriptionId, held: true } })) === 1,
  );
  expect(receiver.received).toHaveLength(0);
  await change({ status: 'active', statusEpoch: 3 });
  await receiver.waitForCount(200);
  await waitUntil(async () => (await log.list(`${of}&status=pending`)).data.length === 0);
  await waitUntilDone(subscriptionId);
  expect(idsReceived()[0]).toBe(chosen.eventId);
  expect(idsReceived().sort()).toEqual([...ids].sort());
});

test('replays are in the log as lanes of their own, and theirs can be retried when they have ended', async () => {
  receiver.respond(() => ({ status: 500 }));
  const { of, record } = await subscribe();
  const { subscriptionId } = record;
  const [id] = await surroundings.publishEvents(1);
  const [original] = await log.deliveriesWith(`${of}&status=dead`, 1);
  const replayId = newId('rep');
  const since = new Date(Date.now() - 3_600_000).toISOString();
  await log.command('subscription.replay_requested', {
    subscriptionId,
    replayId,
    since,
    mode: 'failed',
    requestedAt: new Date().toISOString(),
  } as { subscriptionId: string });
  const [replayed] = await log.deliveriesWith(`${of}&replayId=${replayId}&status=dead`, 1);
  expect(replayed).toMatchObject({ eventId: id, replayId, attemptCount: 2 });
  await waitUntil(
    async () => (await surroundings.prisma.lane.findUnique({ where: { replayId } }))?.state === 'completed',
  );
  expect((await log.list(of)).data.map(({ deliveryId }) => deliveryId)).toEqual([
    replayed!.deliveryId,
    original!.deliveryId,
  ]);

  receiver.respond(() => ({ status: 200 }));
  await retry(replayed!);
  const healed = await log.deliveriesWith(`${of}&status=delivered`, 2);
  expect(healed.map(({ replayId: of }) => of)).toEqual([replayId, null]);
  expect((await detailOf(original!)).attempts.map(({ outcome }) => outcome)).toEqual(['failed', 'failed']);
  expect(receiver.received).toHaveLength(5);
  expect(receiver.received.at(-1)!.headers['x-service-replay']).toBe(replayId);
});

test('a test event is in the log of its subscription alone, and can be retried', async () => {
  const { of, record } = await subscribe();
  const other = await subscribe();
  const eventId = newId('evt');
  await log.command('subscription.test_requested', {
    subscriptionId: record.subscriptionId,
    eventId,
    requestedAt: new Date().toISOString(),
  } as { subscriptionId: string });
  const [found] = await log.deliveriesWith(`${of}&status=delivered`, 1);
  expect(found).toMatchObject({ eventId, eventType: 'subscription.test', attemptCount: 1 });
  expect((await log.list(`${of}&eventType=subscription.test`)).data).toEqual([found]);
  expect((await log.list(`${of}&eventType=document.available`)).data).toEqual([]);
  expect((await log.list(other.of)).data).toEqual([]);
  await retry(found!);
  await receiver.waitForCount(2);
  await waitUntilDone(record.subscriptionId);
  expect(await detailOf(found!)).toMatchObject({ status: 'delivered', attemptCount: 2 });
});
