import { beforeEach, expect, test } from '@jest/globals';
import { waitUntil, type Receiver } from '@assistance/test-kit';
import { runDispatcher } from './start-dispatcher.ts';

const { surroundings } = await runDispatcher({
  RETRY_BASE_MS: '50',
  RETRY_FACTOR: '1.5',
  FAILING_AFTER_ATTEMPTS: '5',
  FAILING_AFTER_MS: '200',
  FAILING_RETRY_MAX_MS: '100',
  PAUSE_AFTER_MS: '3000',
});
let receiver: Receiver;

beforeEach(async () => {
  receiver = await surroundings.receive();
});

const idsOf = (): string[] => receiver.received.map(({ headers }) => String(headers['webhook-id']));

const reportsOf = async (subscriptionId: string) =>
  (await surroundings.reports())
    .filter(
      ({ type, data }) => type === 'subscription.status_judged' && data['subscriptionId'] === subscriptionId,
    )
    .map(({ data }) => data);

const judged = (subscriptionId: string, status: string) =>
  waitUntil(async () => (await reportsOf(subscriptionId)).find((report) => report['status'] === status), {
    timeoutMs: 10_000,
    intervalMs: 200,
  });

test('failing, then tried one at a time, then active on the first success, and all that waited arrives', async () => {
  receiver.respond(() => ({ status: 500 }));
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const ids = await surroundings.publishEvents(12);
  expect(await judged(record.subscriptionId, 'failing')).toMatchObject({
    statusEpoch: 1,
    reason: { code: 'failing' },
  });
  const whenFailing = receiver.received.length;
  let atOnce = 0;
  let most = 0;
  receiver.respond(async () => {
    most = Math.max(most, ++atOnce);
    await new Promise((resolve) => setTimeout(resolve, 30));
    atOnce -= 1;
    return { status: 500 };
  });
  await receiver.waitForCount(whenFailing + 4);
  expect(most).toBe(1);
  receiver.respond(() => ({ status: 204 }));
  const active = await judged(record.subscriptionId, 'active');
  expect(active).toMatchObject({ reason: null });
  await waitUntil(async () => (await surroundings.prisma.delivery.count()) >= ids.length);
  expect(new Set(idsOf())).toEqual(new Set(ids));
  const numbers = (await reportsOf(record.subscriptionId)).map((report) => Number(report['number']));
  expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
}, 40_000);

test('410 pauses at once; what came meanwhile arrives when the owner resumes', async () => {
  receiver.respond(() => ({ status: 410 }));
  const { record, change } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const [first] = await surroundings.publishEvents(1);
  expect(await judged(record.subscriptionId, 'paused')).toMatchObject({ reason: { code: 'gone' } });
  const attempts = receiver.received.length;
  const later = await surroundings.publishEvents(20);
  await waitUntil(
    async () => (await surroundings.prisma.event.count({ where: { webhookId: { in: later } } })) === 20,
  );
  expect(receiver.received).toHaveLength(attempts);
  receiver.respond(() => ({}));
  await change({ statusEpoch: 2 });
  await waitUntil(() => [first!, ...later].every((id) => idsOf().includes(id)));
});

test('too long without a success pauses', async () => {
  receiver.respond(() => ({ status: 500 }));
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  await surroundings.publishEvents(3);
  expect(await judged(record.subscriptionId, 'paused')).toMatchObject({
    reason: { code: 'failing_too_long' },
  });
}, 20_000);

test('Retry-After holds the whole lane', async () => {
  receiver.respond((_request, number) =>
    number === 1 ? { status: 503, headers: { 'retry-after': '2' } } : {},
  );
  await surroundings.subscribe({ callbackUrl: receiver.url });
  await surroundings.publishEvents(1);
  const [held] = await receiver.waitForCount(1);
  const ids = await surroundings.publishEvents(5);
  await waitUntil(() => ids.every((id) => idsOf().includes(id)));
  const next = receiver.received[1]!;
  expect(next.receivedAt.getTime() - held!.receivedAt.getTime()).toBeGreaterThanOrEqual(1_900);
});

test('with order per subject a failing one holds back its own subject alone, and order is kept', async () => {
  receiver.respond(({ body }, number) => ({
    status: body.includes('"subject":"sour"') && number < 12 ? 500 : 204,
  }));
  await surroundings.subscribe({ callbackUrl: receiver.url, ordering: 'subject' });
  const sour = await surroundings.publishEvents(6, { subject: 'sour' });
  const sweet = await surroundings.publishEvents(6, { subject: 'sweet' });
  await waitUntil(() => [...sour, ...sweet].every((id) => idsOf().includes(id)), { timeoutMs: 15_000 });
  const firsts = [...new Set(idsOf())];
  expect(firsts.filter((id) => sour.includes(id))).toEqual(sour);
  expect(firsts.filter((id) => sweet.includes(id))).toEqual(sweet);
  expect(firsts.indexOf(sweet[5]!)).toBeLessThan(firsts.indexOf(sour[1]!));
}, 30_000);
