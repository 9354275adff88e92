import { beforeEach, expect, test } from '@jest/globals';
import { deliveryDetail, explanation, type Explanation, type Verdict } from '@assistance/types';
import { newId } from '@assistance/service-kit';
import { waitUntil, type Answer, type Receiver } from '@assistance/test-kit';
import { expiresAt } from '../src/retention/expires-at.ts';
import { eventIdOf } from './old-days.ts';
import { createLogReader } from './read-log.ts';
import { runDispatcher, type Surroundings } from './start-dispatcher.ts';

const { surroundings, dispatcher } = await runDispatcher({
  RETRY_BASE_MS: '100',
  RETRY_MAX_ATTEMPTS: '2',
  FAILING_AFTER_ATTEMPTS: '5',
  FAILING_AFTER_MS: '0',
  FAILING_RETRY_MAX_MS: '60000',
  RATE_LIMIT_PER_SECOND: '5000',
});
const log = createLogReader(surroundings, dispatcher);
let receiver: Receiver;

beforeEach(async () => {
  receiver = await surroundings.receive();
});

async function subscribe(fields: Parameters<Surroundings['subscribe']>[0] | object = {}) {
  const subscribed = await surroundings.subscribe({ callbackUrl: receiver.url, ...fields });
  await log.waitForVersion(subscribed.record.subscriptionId, 1);
  return { ...subscribed, subscriptionId: subscribed.record.subscriptionId };
}

const explain = (subscriptionId: string, eventId: string): Promise<Explanation> =>
  log.read(explanation, `/explain?subscriptionId=${subscriptionId}&eventId=${eventId}`);

const explainsAs = (verdict: Verdict, subscriptionId: string, eventId: string): Promise<Explanation> =>
  waitUntil(async () => {
    const explained = await explain(subscriptionId, eventId);
    expect(explained).toMatchObject({ subscriptionId, eventId, verdict });
    return explained;
  });

test('delivered, with the time and the delivery', async () => {
  const { subscriptionId } = await subscribe();
  const [id] = await surroundings.publishEvents(1);
  const { deliveryId, message } = await explainsAs('delivered', subscriptionId, id!);
  const { data } = await log.list(`subscriptionId=${subscriptionId}`);
  expect(data[0]).toMatchObject({ deliveryId, eventId: id });
  expect(message).toContain(data[0]!.completedAt);
});

test('dead, with the last failure and what to do', async () => {
  receiver.respond(() => ({ status: 404 }));
  const { subscriptionId } = await subscribe();
  const [id] = await surroundings.publishEvents(1);
  const { message } = await explainsAs('dead', subscriptionId, id!);
  expect(message).toMatch(/2 times tried.*http_status.*retry the delivery/);
});

test('in flight while it is being sent, pending behind others that are', async () => {
  const waiting: ((answer: Answer) => void)[] = [];
  receiver.respond(() => new Promise((resolve) => waiting.push(resolve)));
  const { subscriptionId } = await subscribe();
  const [first] = await surroundings.publishEvents(1, { subject: 'same' });
  await receiver.waitForCount(1);
  await explainsAs('in_flight', subscriptionId, first!);
  const ids = await surroundings.publishEvents(20, { subject: 'same' });
  await receiver.waitForCount(8);
  await explainsAs('pending', subscriptionId, ids.at(-1)!);
  receiver.respond(() => ({}));
  for (const answer of waiting) answer({});
  await explainsAs('delivered', subscriptionId, ids.at(-1)!);
});

test('retrying, with the time of the next attempt', async () => {
  receiver.respond(() => ({ status: 503, headers: { 'retry-after': '600' } }));
  const { subscriptionId } = await subscribe();
  const [id] = await surroundings.publishEvents(1);
  const { message } = await explainsAs('retrying', subscriptionId, id!);
  const { data } = await log.list(`subscriptionId=${subscriptionId}&status=pending`);
  expect(Date.parse(data[0]!.nextAttemptAt!)).toBeGreaterThan(Date.now() + 500_000);
  expect(message).toContain(data[0]!.nextAttemptAt);
  const [held] = await surroundings.publishEvents(1);
  await log.waitForEvents([held!]);
  expect((await explainsAs('pending', subscriptionId, held!)).message).toMatch(/left alone until 20/);
});

test('buffered while failing, also what was never tried', async () => {
  receiver.respond(() => ({ status: 500 }));
  const { subscriptionId } = await subscribe();
  const ids = await surroundings.publishEvents(40);
  await log.waitForEvents(ids);
  await waitUntil(async () => {
    const live = await surroundings.prisma.lane.findFirst({ where: { subscriptionId } });
    return live?.judged === 'failing';
  });
  for (const { eventId } of await log.deliveriesWith(`subscriptionId=${subscriptionId}&status=pending`, 30)) {
    const { verdict, message } = await explain(subscriptionId, eventId);
    expect(verdict).toBe('buffered_failing');
    expect(message).toMatch(/Not sent by 20\S+T00:00:00\.000Z, it expires\./);
  }
});

test('buffered while paused, cancelled when the subscription is deleted', async () => {
  const { subscriptionId, change } = await subscribe();
  await change({ status: 'paused', statusEpoch: 2 });
  await log.waitForVersion(subscriptionId, 2);
  const [id] = await surroundings.publishEvents(1);
  await log.waitForEvents([id!]);
  const { deliveryId, message } = await explainsAs('buffered_paused', subscriptionId, id!);
  const { createdAt } = await log.read(deliveryDetail, `/deliveries/${deliveryId}`);
  expect(message).toContain(`Not sent by ${expiresAt(new Date(createdAt), 7).toISOString()}, it expires.`);
  await change({ status: 'deleted' });
  await explainsAs('cancelled', subscriptionId, id!);
});

test('not of a type that is subscribed, or from before the subscription', async () => {
  const [early] = await surroundings.publishEvents(1);
  await log.waitForEvents([early!]);
  const without = await subscribe({
    eventTypes: [{ type: 'request.released', addedAt: new Date().toISOString() }],
  });
  expect(await explainsAs('type_not_subscribed', without.subscriptionId, early!)).toMatchObject({
    deliveryId: null,
  });
  const late = await subscribe({
    createdAt: new Date(Date.now() + 60_000).toISOString(),
    eventTypes: [{ type: 'document.available', addedAt: new Date(Date.now() + 60_000).toISOString() }],
  });
  expect(await explainsAs('before_subscription', late.subscriptionId, early!)).toMatchObject({
    deliveryId: null,
  });
});

test("unknown, another's test, and older than what is kept", async () => {
  const { subscriptionId } = await subscribe();
  await explainsAs('event_unknown', subscriptionId, newId('evt'));
  await explainsAs('event_unknown', subscriptionId, 'anything');
  const eightDaysAgo = new Date(Date.now() - 8 * 86_400_000);
  const { message } = await explainsAs('event_expired', subscriptionId, eventIdOf(eightDaysAgo));
  expect(message).toContain(eightDaysAgo.toISOString());
  expect(message).toMatch(/older than the 7 days.*reconciliation counts.*from where it came/);

  const other = await subscribe();
  const eventId = newId('evt');
  await log.command('subscription.test_requested', {
    subscriptionId: other.subscriptionId,
    eventId,
    requestedAt: new Date().toISOString(),
  } as { subscriptionId: string });
  await explainsAs('delivered', other.subscriptionId, eventId);
  await explainsAs('event_unknown', subscriptionId, eventId);
});
