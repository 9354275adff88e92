import { expect, test } from '@jest/globals';
import { topics } from '@assistance/types';
import { newId } from '@assistance/service-kit';
import { waitUntil, type Answer, type Receiver } from '@assistance/test-kit';
import { createLogReader } from './read-log.ts';
import { runDispatcher, type Subscribed } from './start-dispatcher.ts';

const { surroundings, dispatcher } = await runDispatcher({
  RETRY_BASE_MS: '2000',
  FAILING_AFTER_MS: '3600000',
  RATE_LIMIT_PER_SECOND: '5000',
});
const log = createLogReader(surroundings, dispatcher);
const { prisma, publisher, publishEvents } = surroundings;

async function subscribe(fields: Partial<Subscribed['record']> = {}) {
  const receiver = await surroundings.receive();
  const subscribed = await surroundings.subscribe({ callbackUrl: receiver.url, ...fields });
  const { subscriptionId } = subscribed.record;
  await log.waitForVersion(subscriptionId, 1);
  return { ...subscribed, subscriptionId, receiver };
}

const idsOf = ({ received }: Receiver): string[] =>
  received.map(({ headers }) => String(headers['webhook-id']));

/** Answers only when told to. */
function hold(receiver: Receiver): () => void {
  const waiting: ((answer: Answer) => void)[] = [];
  receiver.respond(() => new Promise((resolve) => waiting.push(resolve)));
  return () => {
    receiver.respond(() => ({}));
    for (const answer of waiting) answer({});
  };
}

/** Answers slowly, and notes how many of one subject there were at once at most. */
function countAtOnce(receiver: Receiver): () => number {
  const atOnce = new Map<string, number>();
  let most = 0;
  receiver.respond(async ({ body }) => {
    const { subject = '' } = JSON.parse(body) as { subject?: string };
    const now = (atOnce.get(subject) ?? 0) + 1;
    most = Math.max(most, now);
    atOnce.set(subject, now);
    await new Promise((resolve) => setTimeout(resolve, 20));
    atOnce.set(subject, atOnce.get(subject)! - 1);
    return {};
  });
  return () => most;
}

test('without order up to 8 are begun at once, in the order in which they arrived', async () => {
  const { receiver } = await subscribe();
  const release = hold(receiver);
  const ids = await publishEvents(20, { subject: 'same' });
  await receiver.waitForCount(8);
  const witness = await subscribe();
  const [last] = await publishEvents(1, { subject: 'same' });
  await witness.receiver.waitFor(({ headers }) => headers['webhook-id'] === last);
  expect(idsOf(receiver).sort()).toEqual(ids.slice(0, 8).sort());
  release();
  await receiver.waitForCount(21);
  expect(idsOf(receiver).slice(0, 8).sort()).toEqual(ids.slice(0, 8).sort());
});

test('with order per subject one of a subject is under way at a time, live or replayed', async () => {
  const { subscriptionId, receiver } = await subscribe({ ordering: 'subject' });
  const since = new Date();
  const most = countAtOnce(receiver);
  const ids = await publishEvents(15, { subject: 'one' });
  await receiver.waitForCount(15);
  expect(idsOf(receiver)).toEqual(ids);
  const asked = { subscriptionId, replayId: newId('rep'), since: since.toISOString(), mode: 'all' };
  await log.command('subscription.replay_requested', {
    ...asked,
    requestedAt: new Date().toISOString(),
  } as { subscriptionId: string });
  await receiver.waitFor(({ headers }) => headers['x-service-replay'] !== undefined);
  const live = await publishEvents(15, { subject: 'one' });
  await receiver.waitForCount(45);
  expect(most()).toBe(1);
  const replayed = receiver.received.filter(({ headers }) => headers['x-service-replay'] !== undefined);
  expect(replayed.map(({ headers }) => headers['webhook-id'])).toEqual(ids);
  expect(idsOf(receiver).filter((id) => live.includes(id))).toEqual(live);
});

test("an event without a subject is in the order of its record's key", async () => {
  const { receiver } = await subscribe({ ordering: 'subject' });
  const most = countAtOnce(receiver);
  const ids = Array.from({ length: 12 }, () => newId('evt'));
  const withoutSubject = (id: string): string =>
    JSON.stringify({ specversion: '1.0', id, source: '/documents', type: 'document.available', data: {} });
  await publisher.publish(
    ids.map((id) => ({
      topic: topics.documentAvailable.name,
      key: 'doc-1',
      value: Buffer.from(withoutSubject(id)),
      headers: {},
    })),
  );
  await receiver.waitForCount(12);
  expect(idsOf(receiver)).toEqual(ids);
  expect(most()).toBe(1);
});

test('once order per subject is asked for, what waits for its next attempt holds back its subject', async () => {
  const { subscriptionId, receiver, change } = await subscribe();
  receiver.respond((_request, number) => (number === 1 ? { status: 500 } : {}));
  const [head] = await publishEvents(1, { subject: 'sour' });
  await waitUntil(async () => (await prisma.unsettled.count({ where: { state: 'retry' } })) === 1);
  await change({ ordering: 'subject' });
  await log.waitForVersion(subscriptionId, 2);
  const behind = await publishEvents(3, { subject: 'sour' });
  await waitUntil(() => behind.every((id) => idsOf(receiver).includes(id)));
  expect(idsOf(receiver)).toEqual([head, head, ...behind]);
});
