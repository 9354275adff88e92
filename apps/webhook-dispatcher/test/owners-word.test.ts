import { expect, test } from '@jest/globals';
import { deliveryDetail } from '@assistance/types';
import { createKeyRing } from '@assistance/service-kit';
import { waitUntil, type Receiver } from '@assistance/test-kit';
import { generateSecret } from '@assistance/webhook-signature';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { createLogReader } from './read-log.ts';
import { runDispatcher, type Subscribed } from './start-dispatcher.ts';

// One that is failing is left alone for longer than these tests take.
const { surroundings, dispatcher } = await runDispatcher({
  RETRY_BASE_MS: '3600000',
  FAILING_AFTER_ATTEMPTS: '2',
  FAILING_AFTER_MS: '0',
  DELIVERY_TIMEOUT_MS: '12000',
  RATE_LIMIT_PER_SECOND: '5000',
});
const log = createLogReader(surroundings, dispatcher);
const { prisma, publishEvents } = surroundings;
/** 3 s, under load 15 s: tests run under load. */
const APPLIED_WITHIN_MS = 15_000;

async function subscribe(fields: Partial<Subscribed['record']> = {}) {
  const receiver = await surroundings.receive();
  const subscribed = await surroundings.subscribe({ callbackUrl: receiver.url, ...fields });
  const { subscriptionId } = subscribed.record;
  await log.waitForVersion(subscriptionId, 1);
  return { ...subscribed, subscriptionId, receiver };
}

const idsOf = ({ received }: Receiver): string[] =>
  received.map(({ headers }) => String(headers['webhook-id'])).sort();

async function fail({ subscriptionId, receiver }: { subscriptionId: string; receiver: Receiver }) {
  receiver.respond(() => ({ status: 500 }));
  const ids = await publishEvents(3);
  await waitUntil(async () => {
    const live = await prisma.lane.findFirst({ where: { subscriptionId } });
    return live?.judged === 'failing' && live.failCount === 3;
  });
  receiver.respond(() => ({}));
  return ids;
}

test('active while failing means: all that waits is tried now', async () => {
  const subscribed = await subscribe();
  const ids = await fail(subscribed);
  const { receiver, change } = subscribed;
  const before = receiver.received.length;
  await change({ status: 'active', statusEpoch: 2 });
  await receiver.waitForCount(before + 3);
  expect(idsOf(receiver).slice(-3).length).toBe(3);
  expect(new Set(receiver.received.slice(before).map(({ headers }) => headers['webhook-id']))).toEqual(
    new Set(ids),
  );
});

test('a retry by hand is made also while failing, and its success makes the subscription active', async () => {
  const subscribed = await subscribe();
  const [id] = await fail(subscribed);
  const { receiver, subscriptionId } = subscribed;
  const before = receiver.received.length;
  const [asked] = await log.deliveriesWith(`subscriptionId=${subscriptionId}&eventId=${id}`, 1);
  expect(asked).toMatchObject({ status: 'pending', attemptCount: 1 });
  await log.call(`/deliveries/${asked!.deliveryId}/retry`, { method: 'POST' });
  await receiver.waitForCount(before + 1);
  expect(receiver.received[before]!.headers['webhook-id']).toBe(id);
  await log.deliveriesWith(`subscriptionId=${subscriptionId}&status=delivered`, 3);
  expect((await log.read(deliveryDetail, `/deliveries/${asked!.deliveryId}`)).attempts).toHaveLength(2);
});

test('until a subscription is known it is 404 in the delivery log; it is known soon', async () => {
  const publishedAt = Date.now();
  const { record } = await surroundings.subscribe({ callbackUrl: 'http://127.0.0.1:9/' });
  const path = `/subscriptions/${record.subscriptionId}`;
  const unknown = path.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  expect((await log.call(`${unknown}/reconciliation`)).status).toBe(404);
  await waitUntil(async () => (await log.call(`${path}/reconciliation`)).status === 200, {
    timeoutMs: APPLIED_WITHIN_MS,
  });
  expect(Date.now() - publishedAt).toBeLessThan(APPLIED_WITHIN_MS);
});

test('a new secret signs soon, and the older one beside it until it has run out', async () => {
  const { subscriptionId, receiver, record, secret, change } = await subscribe();
  const keyRing = createKeyRing(
    JSON.parse(surroundings.environment['KEY_RING'] ?? '') as Parameters<typeof createKeyRing>[0],
  );
  const newer = generateSecret();
  const sealed = keyRing.seal(Buffer.from(newer), subscriptionId);
  const createdAt = new Date().toISOString();
  const expiresAt = new Date(Date.now() + 60_000).toISOString();
  const signs = async (each: string): Promise<boolean> => {
    const [id] = await publishEvents(1);
    const { body, headers } = await receiver.waitFor((request) => request.headers['webhook-id'] === id);
    try {
      return Boolean(new StandardWebhook(each).verify(body, headers as Record<string, string>));
    } catch {
      return false;
    }
  };
  expect([await signs(newer), await signs(secret)]).toEqual([false, true]);
  const [older] = record.secrets;
  await change({
    secrets: [
      { sealed, createdAt, expiresAt: null },
      { ...older!, expiresAt },
    ],
  });
  await waitUntil(() => signs(newer), { timeoutMs: APPLIED_WITHIN_MS });
  expect(await signs(secret)).toBe(true);
  const ended = new Date(Date.now() - 1).toISOString();
  await change({
    secrets: [
      { sealed, createdAt, expiresAt: null },
      { ...older!, expiresAt: ended },
    ],
  });
  await waitUntil(async () => !(await signs(secret)), { timeoutMs: APPLIED_WITHIN_MS });
  expect(await signs(newer)).toBe(true);
}, 40_000);

test("what an owner says is applied while another's lanes wait for a receiver that hangs", async () => {
  const hanging = await subscribe();
  const calm = await subscribe();
  hanging.receiver.respond(() => new Promise(() => undefined));
  const [first] = await publishEvents(1);
  await hanging.receiver.waitFor(({ headers }) => headers['webhook-id'] === first);
  const addedAt = hanging.record.createdAt;
  // A type that is added may begin before what was sent, so its lanes are read anew: what is under way ends before.
  await hanging.change({
    eventTypes: [...hanging.record.eventTypes, { type: 'request.released', addedAt }],
  });
  await waitUntil(
    async () =>
      (await prisma.subscription.findUniqueOrThrow({ where: { subscriptionId: hanging.subscriptionId } }))
        .version === 2,
  );
  await calm.change({ status: 'paused', statusEpoch: 2 });
  await log.waitForVersion(calm.subscriptionId, 2);
  expect(await prisma.laneCommand.count({ where: { subscriptionId: hanging.subscriptionId } })).toBe(1);
  const [second] = await publishEvents(1);
  await log.waitForEvents([second!]);
  expect(idsOf(calm.receiver)).toEqual([first]);
}, 30_000);
