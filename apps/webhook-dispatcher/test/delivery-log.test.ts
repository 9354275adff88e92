import { beforeEach, expect, test } from '@jest/globals';
import { deliveryDetail, errorBody, eventFeed, reconciliation, type Delivery } from '@assistance/types';
import { newId } from '@assistance/service-kit';
import { createReceiver, type Receiver } from '@assistance/test-kit';
import { createLogReader } from './read-log.ts';
import { runDispatcher } from './start-dispatcher.ts';

const { surroundings, dispatcher } = await runDispatcher(({ issuer }) => ({
  RETRY_BASE_MS: '40',
  RETRY_FACTOR: '1.5',
  RETRY_MAX_ATTEMPTS: '2',
  DELIVERY_TIMEOUT_MS: '2000',
  FAILING_AFTER_MS: '3600000',
  RATE_LIMIT_PER_SECOND: '5000',
  OPERATOR_CLIENTS: `${issuer.issuer}#operator`,
}));
const log = createLogReader(surroundings, dispatcher);
let receiver: Receiver;

beforeEach(async () => {
  receiver = await surroundings.receive();
});

test('a delivery that succeeded at once is shown with its one attempt and the event as sent', async () => {
  receiver.respond(() => ({ status: 200, body: 'thank you' }));
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const [id] = await surroundings.publishEvents(1);
  const [found] = await log.deliveriesWith(`subscriptionId=${record.subscriptionId}&status=delivered`, 1);
  expect(found).toMatchObject({
    subscriptionId: record.subscriptionId,
    eventId: id,
    eventType: 'document.available',
    replayId: null,
    attemptCount: 1,
    nextAttemptAt: null,
    lastFailure: null,
  });
  expect(Date.parse(found!.completedAt!)).toBeGreaterThanOrEqual(Date.parse(found!.createdAt) - 1000);

  const detail = await log.read(deliveryDetail, `/deliveries/${found!.deliveryId}`);
  expect(detail).toMatchObject(found!);
  expect(detail.attempts).toMatchObject([
    { attemptNumber: 1, outcome: 'succeeded', reason: null, responseStatus: 200, responseBody: 'thank you' },
  ]);
  const { text } = await log.call(`/deliveries/${found!.deliveryId}`);
  expect(text).toContain(receiver.received[0]!.body);
});

test('failures, their reasons and bodies are shown, and what ran out of attempts is dead', async () => {
  receiver.respond(() => ({ status: 503, body: 'closed for today' }));
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const [id] = await surroundings.publishEvents(1);
  const [dead] = await log.deliveriesWith(`subscriptionId=${record.subscriptionId}&status=dead`, 1);
  expect(dead).toMatchObject({
    eventId: id,
    attemptCount: 2,
    nextAttemptAt: null,
    lastFailure: { reason: 'http_status', responseStatus: 503 },
  });
  expect(dead!.completedAt).not.toBeNull();
  const { attempts } = await log.read(deliveryDetail, `/deliveries/${dead!.deliveryId}`);
  expect(
    attempts.map(({ attemptNumber, outcome, responseBody }) => [attemptNumber, outcome, responseBody]),
  ).toEqual([
    [1, 'failed', 'closed for today'],
    [2, 'failed', 'closed for today'],
  ]);
  const { data } = await log.list(`subscriptionId=${record.subscriptionId}&status=delivered`);
  expect(data).toEqual([]);
});

test('pages in both directions of a mixed log hold each delivery once, newest first', async () => {
  const other = await createReceiver();
  receiver.respond((request) => ({ status: request.body.length % 2 === 0 ? 200 : 500 }));
  const first = await surroundings.subscribe({ callbackUrl: receiver.url });
  const second = await surroundings.subscribe({ callbackUrl: other.url });
  await log.waitForVersion(first.record.subscriptionId, 1);
  await log.waitForVersion(second.record.subscriptionId, 1);
  const since = new Date().toISOString();
  const ids = await surroundings.publishEvents(60);
  await log.deliveriesWith(`subscriptionId=${second.record.subscriptionId}&status=delivered`, 60);
  const all: Delivery[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { data, page } = await log.list(
      `since=${since}&limit=7${cursor === '' ? '' : `&cursor=${cursor}`}`,
    );
    expect(page.limit).toBe(7);
    expect(data.length).toBeGreaterThan(0);
    all.push(...data);
    cursor = page.nextCursor;
  }
  const mine = all.filter(({ subscriptionId }) =>
    [first.record.subscriptionId, second.record.subscriptionId].includes(subscriptionId),
  );
  expect(mine).toHaveLength(120);
  expect(new Set(all.map(({ deliveryId }) => deliveryId)).size).toBe(all.length);
  expect(new Set(mine.map(({ eventId }) => eventId))).toEqual(new Set(ids));
  const times = all.map(({ createdAt }) => createdAt);
  expect(times).toEqual([...times].sort().reverse());

  const [one] = await log
    .list(`eventId=${ids[30]}&subscriptionId=${second.record.subscriptionId}`)
    .then(({ data }) => data);
  expect(one).toMatchObject({ eventId: ids[30], status: 'delivered' });
  const { page } = await log.list(`subscriptionId=${second.record.subscriptionId}&limit=7`);
  const foreign = await log.call(
    `/deliveries?subscriptionId=${first.record.subscriptionId}&cursor=${page.nextCursor}`,
  );
  expect(foreign).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } });
  await other.close();
});

test('what a paused subscription has not been sent is pending, also beyond what is recorded', async () => {
  const { record, change } = await surroundings.subscribe({ callbackUrl: receiver.url });
  await log.waitForVersion(record.subscriptionId, 1);
  await change({ status: 'paused', statusEpoch: 2 });
  await log.waitForVersion(record.subscriptionId, 2);
  const ids = await surroundings.publishEvents(30);
  await log.waitForEvents(ids);
  const pending = await log.deliveriesWith(`subscriptionId=${record.subscriptionId}&status=pending`, 30);
  expect(pending.map(({ eventId }) => eventId).sort()).toEqual([...ids].sort());
  expect(pending[0]).toMatchObject({
    attemptCount: 0,
    nextAttemptAt: null,
    completedAt: null,
    lastFailure: null,
  });
  expect(
    await log.read(reconciliation, `/subscriptions/${record.subscriptionId}/reconciliation`),
  ).toMatchObject({
    matched: 30,
    pending: 30,
    delivered: 0,
  });
  await change({ status: 'deleted' });
  const cancelled = await log.deliveriesWith(`subscriptionId=${record.subscriptionId}&status=cancelled`, 30);
  expect(cancelled).toHaveLength(30);
  expect(cancelled[0]!.completedAt).not.toBeNull();
  expect(
    await log.read(reconciliation, `/subscriptions/${record.subscriptionId}/reconciliation`),
  ).toMatchObject({
    matched: 30,
    cancelled: 30,
    pending: 0,
  });
  const { status } = await log.call(`/deliveries/${cancelled[0]!.deliveryId}/retry`, { method: 'POST' });
  expect(status).toBe(404);
  expect(receiver.received).toHaveLength(0);
});

test('the feed holds every matched event in the order of arrival, and a later one comes after the cursor', async () => {
  receiver.respond(() => ({ status: 500 }));
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  await log.waitForVersion(record.subscriptionId, 1);
  const ids: string[] = [];
  for (let i = 0; i < 5; i += 1) {
    const [id] = await surroundings.publishEvents(1, { subject: 'same' });
    await log.waitForEvents([id!]);
    ids.push(id!);
  }
  const path = `/subscriptions/${record.subscriptionId}/events`;
  const first = await log.read(eventFeed, `${path}?limit=3`);
  expect(first.data.map(({ id }) => id)).toEqual(ids.slice(0, 3));
  const [late] = await surroundings.publishEvents(1, {
    subject: 'same',
    time: new Date(Date.now() - 3_600_000),
  });
  await log.waitForEvents([late!]);
  const rest = await log.read(eventFeed, `${path}?limit=3&cursor=${first.page.nextCursor}`);
  expect(rest.data.map(({ id }) => id)).toEqual([...ids.slice(3), late]);
  expect(rest.page.nextCursor).toBeNull();
});

test('the reconciliation accounts for each matched event of a stretch of time', async () => {
  receiver.respond((_request, number) => ({ status: number <= 20 ? 200 : 500 }));
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  await log.waitForVersion(record.subscriptionId, 1);
  await surroundings.publishEvents(20);
  await log.deliveriesWith(`subscriptionId=${record.subscriptionId}&status=delivered`, 20);
  await surroundings.publishEvents(10);
  await log.deliveriesWith(`subscriptionId=${record.subscriptionId}&status=dead`, 10);
  const path = `/subscriptions/${record.subscriptionId}/reconciliation`;
  const counts = await log.read(reconciliation, path);
  expect(counts).toMatchObject({
    matched: 30,
    delivered: 20,
    dead: 10,
    pending: 0,
    cancelled: 0,
    expired: 0,
  });
  const { data } = await log.list(`subscriptionId=${record.subscriptionId}&limit=200`);
  const until = data[9]!.createdAt; // the eldest of the last ten
  expect(await log.read(reconciliation, `${path}?until=${until}`)).toMatchObject({
    until,
    matched: 20,
    delivered: 20,
    dead: 0,
  });
  expect(await log.call(`${path}?since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z`)).toMatchObject({
    status: 400,
    body: { code: 'validation_error' },
  });
});

test('another client finds nothing, an operator finds it, and each such read is audited', async () => {
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const [id] = await surroundings.publishEvents(1);
  const [{ deliveryId } = { deliveryId: '' }] = await log.deliveriesWith(
    `subscriptionId=${record.subscriptionId}&status=delivered`,
    1,
  );
  const { subscriptionId } = record;
  const paths = [
    `/deliveries/${deliveryId}`,
    `/subscriptions/${subscriptionId}/reconciliation`,
    `/subscriptions/${subscriptionId}/events`,
    `/explain?subscriptionId=${subscriptionId}&eventId=${id}`,
  ];
  for (const path of paths) {
    const refused = await log.call(path, { clientId: 'stranger' });
    expect(refused.status).toBe(404);
    expect(errorBody.parse(refused.body).code).toBe('not_found');
    expect((await log.call(path, { clientId: 'operator' })).status).toBe(200);
    expect((await log.call(path, { scopes: [] })).status).toBe(403);
  }
  expect((await log.list(`subscriptionId=${subscriptionId}`, 'stranger')).data).toEqual([]);
  expect((await log.list(`subscriptionId=${subscriptionId}`, 'operator')).data).toHaveLength(1);
  const reads = await surroundings.prisma.operatorRead.findMany({ orderBy: { id: 'asc' } });
  expect(reads.map(({ operator, route, subscriptionId: of }) => [operator, route, of])).toEqual(
    [
      '/deliveries/:deliveryId',
      '/subscriptions/:subscriptionId/reconciliation',
      '/subscriptions/:subscriptionId/events',
      '/explain',
      '/deliveries',
    ].map((route) => [`${surroundings.issuer.issuer}#operator`, `/deliveries/v1${route}`, subscriptionId]),
  );
  for (const clientId of ['stranger', 'operator']) {
    expect((await log.call(`/deliveries/${deliveryId}/retry`, { clientId, method: 'POST' })).status).toBe(
      404,
    );
  }
});

test('an operator’s filter that is no id is not kept; what an owner reads of its own is not written down', async () => {
  const { operatorRead } = surroundings.prisma;
  const before = await operatorRead.count();
  await log.list('limit=1');
  expect(await operatorRead.count()).toBe(before);
  await log.list('subscriptionId=Maria%20Planted', 'operator');
  expect(await operatorRead.findFirst({ orderBy: { id: 'desc' } })).toMatchObject({ subscriptionId: null });
});

test.each(["update operator_read set operator = 'x'", 'delete from operator_read', 'truncate operator_read'])(
  'what operators read is not changed by its own owner: %s',
  async (statement) => {
    await log.list('limit=1', 'operator');
    await expect(surroundings.prisma.$executeRawUnsafe(statement)).rejects.toThrow(/never changed/);
  },
);

test.each([
  ['/deliveries/dlv_nothing', 404, 'not_found'],
  [`/deliveries/${newId('dlv')}`, 404, 'not_found'],
  [`/subscriptions/${newId('sub')}/reconciliation`, 404, 'not_found'],
  ['/subscriptions/%00/events', 404, 'not_found'],
  ['/deliveries?status=lost', 400, 'validation_error'],
  ['/deliveries?eventType=nothing.happened', 400, 'validation_error'],
  ['/deliveries?eventId=%00', 400, 'validation_error'],
  ['/deliveries?since=yesterday', 400, 'validation_error'],
  ['/deliveries?cursor=bent', 400, 'invalid_cursor'],
  ['/explain?subscriptionId=sub_1', 400, 'validation_error'],
])('%s is answered %i %s', async (path, status, code) => {
  const answer = await log.call(path);
  expect(answer.status).toBe(status);
  expect(errorBody.parse(answer.body).code).toBe(code);
});
