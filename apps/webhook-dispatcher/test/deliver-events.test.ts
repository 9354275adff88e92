import { beforeEach, expect, test } from '@jest/globals';
import { CloudEvent, HTTP } from 'cloudevents';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { waitUntil, type Receiver } from '@assistance/test-kit';
import { reconciliation } from '@assistance/types';
import { createLogReader } from './read-log.ts';
import { runDispatcher } from './start-dispatcher.ts';

const { surroundings, dispatcher } = await runDispatcher({
  RETRY_BASE_MS: '40',
  RETRY_FACTOR: '1.5',
  RETRY_MAX_ATTEMPTS: '3',
  DELIVERY_TIMEOUT_MS: '3000',
  FAILING_AFTER_MS: '3600000',
});
const log = createLogReader(surroundings, dispatcher);
let receiver: Receiver;

beforeEach(async () => {
  receiver = await surroundings.receive();
});

const idsOf = (of: Receiver): string[] => of.received.map(({ headers }) => String(headers['webhook-id']));

const hasAll = (of: Receiver, ids: string[]): boolean => {
  const received = new Set(idsOf(of));
  return ids.every((id) => received.has(id));
};

test('an event reaches its subscriber once, as the bytes that came, signed for the libraries of the field', async () => {
  const { secret } = await surroundings.subscribe({ callbackUrl: `${receiver.url}/hook` });
  const [id] = await surroundings.publishEvents(1);
  const delivery = await receiver.waitFor(({ headers }) => headers['webhook-id'] === id);

  expect(delivery.method).toBe('POST');
  expect(delivery.path).toBe('/hook');
  expect(delivery.headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
  expect(JSON.parse(delivery.body)).toMatchObject({ specversion: '1.0', id, type: 'document.available' });
  const headers = delivery.headers as Record<string, string>;
  expect(new StandardWebhook(secret).verify(delivery.body, headers)).toBeTruthy();
  expect(() => new SvixWebhook(secret).verify(delivery.body, headers)).not.toThrow();
  const stripe = new Stripe('sk_test_unused');
  const signature = String(headers['x-service-signature']);
  expect(stripe.webhooks.constructEvent(delivery.body, signature, secret)).toBeTruthy();
  expect(() => stripe.webhooks.constructEvent(`${delivery.body} `, signature, secret)).toThrow();
  expect(HTTP.toEvent({ headers, body: delivery.body })).toBeInstanceOf(CloudEvent);
});

test('many events reach each of several subscribers exactly once', async () => {
  const others = await Promise.all([surroundings.receive(), surroundings.receive()]);
  for (const { url } of [receiver, ...others]) await surroundings.subscribe({ callbackUrl: url });
  const ids = await surroundings.publishEvents(1_500);
  for (const each of [receiver, ...others]) {
    await waitUntil(() => hasAll(each, ids), {
      timeoutMs: 20_000,
      intervalMs: 100,
    });
    const wanted = new Set(ids);
    expect(idsOf(each).filter((id) => wanted.has(id))).toHaveLength(ids.length);
  }
}, 40_000);

test('a failed delivery is tried again with the same id and a fresh signature until it succeeds', async () => {
  receiver.respond((_request, number) => ({ status: number < 3 ? 500 : 204 }));
  const { record, secret } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const [id] = await surroundings.publishEvents(1);
  const attempts = await receiver.waitForCount(3);
  expect(idsOf(receiver)).toEqual([id, id, id]);
  expect(new Set(attempts.map(({ body }) => body)).size).toBe(1);
  for (const { body, headers } of attempts)
    new SvixWebhook(secret).verify(body, headers as Record<string, string>);
  await waitUntil(async () => {
    const [delivery] = await deliveriesOf(record.subscriptionId);
    return delivery?.attempts === 3;
  });
  expect(await unsettledOf(record.subscriptionId)).toHaveLength(0);
});

test('of many that fail at any moment, none is forgotten while others are looked up to be tried again', async () => {
  const failed = new Set<string>();
  receiver.respond(({ path, headers }) => {
    const delivery = `${path} ${String(headers['webhook-id'])}`;
    const delayMs = Math.random() * 30;
    if (failed.has(delivery)) return { delayMs };
    failed.add(delivery);
    return { status: 500, delayMs };
  });
  const subscriptions = 16;
  for (let n = 0; n < subscriptions; n++)
    await surroundings.subscribe({ callbackUrl: `${receiver.url}/${n}` });
  const ids = await surroundings.publishEvents(150);
  await receiver.waitForCount(2 * subscriptions * ids.length, 20_000);
}, 40_000);

test('a delivery that runs out of attempts is dead and stays visible', async () => {
  receiver.respond(() => ({ status: 503, body: 'closed for today' }));
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  await surroundings.publishEvents(1);
  const dead = await waitUntil(async () =>
    (await unsettledOf(record.subscriptionId)).find(({ state }) => state === 'dead'),
  );
  expect(dead).toMatchObject({ attempts: 3, reason: 'http_status', responseStatus: 503 });
  expect(await surroundings.prisma.attempt.count({ where: { laneNo: dead.laneNo, seq: dead.seq } })).toBe(3);
  expect(receiver.received).toHaveLength(3);
});

test('a receiver that hangs is given up at the deadline, and holds up only its own lane', async () => {
  const hanging = await surroundings.receive();
  hanging.respond(() => new Promise(() => undefined));
  const { record } = await surroundings.subscribe({ callbackUrl: hanging.url });
  await surroundings.subscribe({ callbackUrl: receiver.url });
  await waitForLanes(2);
  const ids = await surroundings.publishEvents(50);
  await waitUntil(() => hasAll(receiver, ids), { timeoutMs: 2_900 });
  expect(await unsettledOf(record.subscriptionId)).toHaveLength(0);
  await waitUntil(async () =>
    (await unsettledOf(record.subscriptionId)).some(({ reason }) => reason === 'timeout'),
  );
});

test('paused means buffered: what arrived is delivered in order on resume, nothing is skipped', async () => {
  const { change, record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const [first] = await surroundings.publishEvents(1);
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === first);
  await change({ status: 'paused', statusEpoch: 2 });
  await waitForVersion(record.subscriptionId, 2);
  const ids = await surroundings.publishEvents(200);
  await waitUntil(
    async () => (await surroundings.prisma.event.count({ where: { webhookId: { in: ids } } })) === 200,
  );
  expect(idsOf(receiver)).toEqual([first]);
  await change({ status: 'active', statusEpoch: 3 });
  await waitUntil(() => hasAll(receiver, ids));
  expect(idsOf(receiver)).toHaveLength(201);
});

test('a deleted subscription gets nothing more', async () => {
  const { change, record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const [first] = await surroundings.publishEvents(1);
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === first);
  await change({ status: 'deleted' });
  await waitForVersion(record.subscriptionId, 2);
  const witness = await surroundings.receive();
  await surroundings.subscribe({ callbackUrl: witness.url });
  const [id] = await surroundings.publishEvents(1);
  await witness.waitFor(({ headers }) => headers['webhook-id'] === id);
  expect(idsOf(receiver)).toEqual([first]);
});

test('a subscription made, changed and deleted within a second ends with all accounted for', async () => {
  const changed = await surroundings.receive();
  const { record, change } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const { subscriptionId } = record;
  const ids = await surroundings.publishEvents(20);
  await change({ callbackUrl: changed.url, ordering: 'subject', statusEpoch: 2 });
  ids.push(...(await surroundings.publishEvents(20)));
  await change({ status: 'deleted' });
  await waitForVersion(subscriptionId, 3);
  const witness = await surroundings.receive();
  await surroundings.subscribe({ callbackUrl: witness.url });
  const [later] = await surroundings.publishEvents(1);
  await witness.waitFor(({ headers }) => headers['webhook-id'] === later);
  const received = (): string[] => [...idsOf(receiver), ...idsOf(changed)];
  await waitUntil(async () => {
    const { matched, delivered, cancelled } = await log.read(
      reconciliation,
      `/subscriptions/${subscriptionId}/reconciliation`,
    );
    return matched === delivered + cancelled && delivered === new Set(received()).size;
  });
  expect(ids).toEqual(expect.arrayContaining(received()));
});

test('a type that is added begins with the change, one that is removed ends with it', async () => {
  const { change, record } = await surroundings.subscribe({ callbackUrl: receiver.url, eventTypes: [] });
  await waitForVersion(record.subscriptionId, 1);
  const addedAt = new Date(Date.now() + 5_000).toISOString();
  await change({ eventTypes: [{ type: 'document.available', addedAt }] });
  const [wanted] = await surroundings.publishEvents(1);
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === wanted);
  await change({ eventTypes: [] });
  await waitForVersion(record.subscriptionId, 3);
  const witness = await surroundings.receive();
  await surroundings.subscribe({ callbackUrl: witness.url });
  const [unwanted] = await surroundings.publishEvents(1);
  await witness.waitFor(({ headers }) => headers['webhook-id'] === unwanted);
  expect(idsOf(receiver)).not.toContain(unwanted);
  expect(idsOf(receiver)).toContain(wanted);
});

const lanesOf = (subscriptionId: string) => surroundings.prisma.lane.findMany({ where: { subscriptionId } });

async function deliveriesOf(subscriptionId: string) {
  const lanes = await lanesOf(subscriptionId);
  return surroundings.prisma.delivery.findMany({
    where: { laneNo: { in: lanes.map(({ laneNo }) => laneNo) } },
  });
}

async function unsettledOf(subscriptionId: string) {
  const lanes = await lanesOf(subscriptionId);
  return surroundings.prisma.unsettled.findMany({
    where: { laneNo: { in: lanes.map(({ laneNo }) => laneNo) } },
  });
}

/** The dispatcher knows this version, and the owner of its lanes has applied it. */
const waitForVersion = (subscriptionId: string, version: number): Promise<unknown> =>
  waitUntil(async () => {
    const known = await surroundings.prisma.subscription.findUnique({ where: { subscriptionId } });
    const asked = await surroundings.prisma.laneCommand.count({ where: { subscriptionId } });
    return known !== null && known.version >= version && asked === 0;
  });

const waitForLanes = (count: number): Promise<unknown> =>
  waitUntil(
    async () =>
      (await surroundings.prisma.lane.count()) >= count &&
      (await surroundings.prisma.laneCommand.count()) === 0,
  );
