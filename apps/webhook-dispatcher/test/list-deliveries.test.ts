import { expect, test } from '@jest/globals';
import { deliveryDetail, reconciliation } from '@assistance/types';
import { newId } from '@assistance/service-kit';
import { waitUntil } from '@assistance/test-kit';
import { createLogReader } from './read-log.ts';
import { runDispatcher } from './start-dispatcher.ts';

const { surroundings, dispatcher } = await runDispatcher({
  RETRY_BASE_MS: '3600000',
  FAILING_AFTER_MS: '3600000',
  RATE_LIMIT_PER_SECOND: '5000',
});
const log = createLogReader(surroundings, dispatcher);
const { prisma, publishEvents } = surroundings;

async function subscribe() {
  const receiver = await surroundings.receive();
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const { subscriptionId } = record;
  await log.waitForVersion(subscriptionId, 1);
  return { receiver, subscriptionId, of: `subscriptionId=${subscriptionId}` };
}

test('since and until are the arrival of the event, until not included', async () => {
  const { of } = await subscribe();
  for (let n = 0; n < 3; n++) {
    const [id] = await publishEvents(1);
    await log.deliveriesWith(`${of}&eventId=${id}&status=delivered`, 1);
  }
  const [last, middle, first] = (await log.list(of)).data;
  const idsOf = async (query: string) =>
    (await log.list(`${of}&${query}`)).data.map(({ eventId }) => eventId);
  expect(await idsOf(`since=${middle!.createdAt}`)).toEqual([last!.eventId, middle!.eventId]);
  expect(await idsOf(`until=${middle!.createdAt}`)).toEqual([first!.eventId]);
  expect(await idsOf(`since=${middle!.createdAt}&until=${last!.createdAt}`)).toEqual([middle!.eventId]);
});

test('a limit above 200 is applied as 200, none as 50, and each filter narrows', async () => {
  const { of, subscriptionId } = await subscribe();
  const [id] = await publishEvents(1);
  await log.deliveriesWith(`${of}&status=delivered`, 1);
  expect((await log.list(`${of}&limit=1000`)).page).toEqual({ nextCursor: null, limit: 200 });
  expect((await log.list(of)).page.limit).toBe(50);
  const wanted = `${of}&status=delivered&eventType=document.available&eventId=${id}`;
  expect((await log.list(wanted)).data).toHaveLength(1);
  for (const other of [
    wanted.replace('delivered', 'dead'),
    wanted.replace('document.available', 'request.released'),
    wanted.replace(id!, newId('evt')),
    wanted.replace(subscriptionId, newId('sub')),
    `${wanted}&replayId=${newId('rep')}`,
  ]) {
    expect((await log.list(other)).data).toEqual([]);
  }
});

test('what has happened is shown within 3 s', async () => {
  const { receiver, of } = await subscribe();
  const [id] = await publishEvents(1);
  const { receivedAt } = await receiver.waitFor(({ headers }) => headers['webhook-id'] === id);
  await log.deliveriesWith(`${of}&eventId=${id}&status=delivered`, 1);
  expect(Date.now() - receivedAt.getTime()).toBeLessThan(3_000);
});

test.each([
  ['text that is too long', Buffer.from('x'.repeat(5_000)), 'x'.repeat(4_096)],
  ['a character at the limit', Buffer.from(`${'x'.repeat(4_095)}é`), 'x'.repeat(4_095)],
  ['what is no text', Buffer.alloc(4_096, 0x80), '\uFFFD'.repeat(1_365)],
  ['NUL', Buffer.from('a\0b'), 'a\uFFFDb'],
])('of an answer with %s at most 4 KiB of text are shown', async (_what, body, shown) => {
  const { receiver, of } = await subscribe();
  receiver.respond(() => ({ status: 200, body }));
  await publishEvents(1);
  const [delivered] = await log.deliveriesWith(`${of}&status=delivered`, 1);
  const { attempts } = await log.read(deliveryDetail, `/deliveries/${delivered!.deliveryId}`);
  expect(attempts).toMatchObject([{ responseBody: shown }]);
});

test('a test event says what it is, to its subscription alone, and is in no reconciliation', async () => {
  const { receiver, subscriptionId, of } = await subscribe();
  const other = await subscribe();
  const eventId = newId('evt');
  const requestedAt = new Date().toISOString();
  const asked = { subscriptionId, eventId, requestedAt };
  await log.command('subscription.test_requested', asked);
  const { body } = await receiver.waitFor(({ headers }) => headers['webhook-id'] === eventId);
  expect(JSON.parse(body)).toMatchObject({
    id: eventId,
    type: 'subscription.test',
    data: { subscriptionId, requestedAt },
  });
  await log.deliveriesWith(`${of}&status=delivered`, 1);
  expect(await log.read(reconciliation, `/subscriptions/${subscriptionId}/reconciliation`)).toMatchObject({
    matched: 0,
    delivered: 0,
    pending: 0,
  });
  expect(other.receiver.received).toEqual([]);
});

test('of two sources that use one id both are delivered, and the newest answers to it', async () => {
  const { receiver, subscriptionId, of } = await subscribe();
  const id = newId('evt');
  for (const [n, source] of ['/one', '/two'].entries()) {
    const event = { specversion: '1.0', id, source, type: 'document.available', data: { n } };
    await surroundings.publisher.publish([
      {
        topic: 'assistance.events.document-available.v1',
        key: 'doc',
        value: Buffer.from(JSON.stringify(event)),
        headers: {},
      },
    ]);
    await receiver.waitForCount(n + 1);
  }
  await log.deliveriesWith(`${of}&status=delivered`, 2);
  const { data } = await log.list(`${of}&eventId=${id}`);
  const detail = await log.read(deliveryDetail, `/deliveries/${data[0]!.deliveryId}`);
  expect([data.length, detail.event]).toMatchObject([1, { source: '/two' }]);
  const explained = await log.call(`/explain?subscriptionId=${subscriptionId}&eventId=${id}`);
  expect(explained.body).toMatchObject({ deliveryId: data[0]!.deliveryId });
  await waitUntil(async () => (await prisma.laneCommand.count()) === 0);
});
