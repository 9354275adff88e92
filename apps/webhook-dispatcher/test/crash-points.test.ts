import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { connectKafka, createLogger } from '@assistance/service-kit';
import {
  createKafkaProxy,
  createReceiver,
  holdStatements,
  startServiceProcess,
  waitUntil,
  type Hold,
  type HoldOptions,
  type Receiver,
  type ServiceProcess,
  type TcpProxy,
} from '@assistance/test-kit';
import { topics } from '@assistance/types';
import { createSurroundings, type Surroundings } from './start-dispatcher.ts';

// Each test holds the running dispatcher at one point, from outside, kills it there, and starts it again.

let surroundings: Surroundings;
let receiver: Receiver;
let wayToKafka: TcpProxy;
let dispatcher: ServiceProcess;

beforeEach(async () => {
  [surroundings, receiver] = await Promise.all([createSurroundings(), createReceiver()]);
  wayToKafka = await createKafkaProxy({ to: surroundings.environment['KAFKA_BROKERS'] ?? '' });
  dispatcher = await start();
  await dispatcher.untilReady(30_000);
}, 60_000);

afterEach(async () => {
  await dispatcher.end('SIGKILL');
  await Promise.all([wayToKafka.close(), receiver.close()]);
  await surroundings.close();
});

const start = (): Promise<ServiceProcess> =>
  startServiceProcess({
    folder: join(import.meta.dirname, '..'),
    environment: { ...surroundings.environment, KAFKA_BROKERS: wayToKafka.address },
  });
const hold = (table: string, on: HoldOptions['on']): Promise<Hold> =>
  holdStatements({ databaseUrl: surroundings.database.url, table, on });
const kill = () => dispatcher.end('SIGKILL');

/** What was on its way to Kafka or from it is lost, not late. */
async function loseConnections(): Promise<void> {
  await wayToKafka.cut();
  await wayToKafka.restore();
}

/** The leases of the dead one end; here at once, else after 10 s. */
async function startAgain(): Promise<void> {
  const { prisma } = surroundings;
  await Promise.all([prisma.shardMember.deleteMany(), prisma.outboxMember.deleteMany()]);
  await prisma.shardLease.updateMany({ data: { until: null } });
  await prisma.outboxLease.updateMany({ data: { until: null } });
  dispatcher = await start();
}

const laneOf = (subscriptionId: string) =>
  surroundings.prisma.lane.findFirstOrThrow({ where: { subscriptionId } });
const deliveries = () => surroundings.prisma.delivery.count();
const unsettled = () => surroundings.prisma.unsettled.count();
const outbox = () => surroundings.prisma.outbox.count();
const receivedIds = () => receiver.received.map(({ headers }) => headers['webhook-id']);
const never = () => new Promise<never>(() => undefined);

test('after the commit of the intake, before the offset: the event comes again, is kept once and delivered once', async () => {
  const { prisma, publishEvents } = surroundings;
  const subscription = await surroundings.subscribe({ callbackUrl: receiver.url, status: 'paused' });
  await waitUntil(async () => laneOf(subscription.record.subscriptionId), { timeoutMs: 10_000 });
  const held = await hold('event', 'insert');
  const [id] = await publishEvents(1);
  await held.reached();
  wayToKafka.hang();
  await held.release();
  await waitUntil(async () => (await prisma.event.count()) === 1);
  await kill();
  await loseConnections();
  expect(await committedOffsets()).toBe(0);

  await startAgain();
  await waitUntil(async () => (await committedOffsets()) === 1, { timeoutMs: 30_000, intervalMs: 200 });
  expect(await prisma.event.count()).toBe(1);
  expect(receiver.received).toHaveLength(0);
  await subscription.change({ status: 'active' });
  await waitUntil(async () => (await deliveries()) === 1, { timeoutMs: 20_000 });
  expect(receivedIds()).toEqual([id]);
}, 90_000);

test('in flight: it is sent again, and recorded once', async () => {
  await surroundings.subscribe({ callbackUrl: receiver.url });
  receiver.respond(never);
  const [id] = await surroundings.publishEvents(1);
  await receiver.waitForCount(1);
  await kill();
  expect(await deliveries()).toBe(0);

  receiver.respond(() => ({}));
  await startAgain();
  await waitUntil(async () => (await deliveries()) === 1, { timeoutMs: 20_000 });
  expect(receivedIds()).toEqual([id, id]);
  expect(await unsettled()).toBe(0);
}, 60_000);

test('after sending, before recording: nothing of it is there, and it is sent again with the same bytes', async () => {
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const held = await hold('delivery', 'insert');
  const [id] = await surroundings.publishEvents(1);
  await held.reached();
  const { cursor } = await laneOf(record.subscriptionId);
  await kill();
  await held.abandon();
  await held.release();
  expect(await deliveries()).toBe(0);
  expect((await laneOf(record.subscriptionId)).cursor).toBe(cursor);

  await startAgain();
  await waitUntil(async () => (await deliveries()) === 1, { timeoutMs: 20_000 });
  expect(receivedIds()).toEqual([id, id]);
  expect(receiver.received[1]?.bytes).toEqual(receiver.received[0]?.bytes);
}, 60_000);

test('before the commit of a report: neither it nor what it tells is there; both come with the next attempt', async () => {
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  receiver.respond(() => ({ status: 410 }));
  const held = await hold('outbox', 'insert');
  const [id] = await surroundings.publishEvents(1);
  await held.reached();
  await kill();
  await held.abandon();
  await held.release();
  expect([await unsettled(), await outbox()]).toEqual([0, 0]);

  await startAgain();
  await waitUntil(async () => (await statuses(record.subscriptionId)).length > 0, { timeoutMs: 20_000 });
  expect(await statuses(record.subscriptionId)).toEqual(['paused']);
  expect(receivedIds()).toEqual([id, id]);
  expect(await unsettled()).toBe(1);
}, 60_000);

test('after recording, before the report is published: it is published once, and nothing is sent again', async () => {
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const { promise: answer, resolve } = Promise.withResolvers<{ status: number }>();
  receiver.respond(() => answer);
  const [id] = await surroundings.publishEvents(1);
  await receiver.waitForCount(1);
  wayToKafka.hang();
  resolve({ status: 410 });
  await waitUntil(async () => (await outbox()) === 1);
  // The relay has taken it up, and waits for Kafka.
  await waitUntil(async () => (await dispatcher.metric('outbox_oldest_seconds')) > 0);
  await kill();
  await loseConnections();
  expect([await unsettled(), await outbox(), await statuses(record.subscriptionId)]).toEqual([1, 1, []]);

  await startAgain();
  await waitUntil(async () => (await outbox()) === 0, { timeoutMs: 20_000 });
  expect(await statuses(record.subscriptionId)).toEqual(['paused']);
  expect(receivedIds()).toEqual([id]);
}, 60_000);

test('after publishing a report, before its row is deleted: it is published again, with the number that it had', async () => {
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  receiver.respond(() => ({ status: 410 }));
  const held = await hold('outbox', 'delete');
  await surroundings.publishEvents(1);
  await held.reached();
  await waitUntil(async () => (await statuses(record.subscriptionId)).length === 1);
  await kill();
  await held.abandon();
  await held.release();
  expect(await outbox()).toBe(1);

  await startAgain();
  await waitUntil(async () => (await outbox()) === 0, { timeoutMs: 20_000 });
  const reports = (await surroundings.reports()).map(({ data }) => data);
  expect(reports).toHaveLength(2);
  expect(reports[1]).toEqual(reports[0]);
  expect(receiver.received).toHaveLength(1);
}, 60_000);

/** What the subscriptions service was told of the subscription's status. */
async function statuses(subscriptionId: string): Promise<unknown[]> {
  const reports = await surroundings.reports();
  return reports
    .filter(({ data }) => data['subscriptionId'] === subscriptionId)
    .map(({ data }) => data['status']);
}

/** How many records of the topic the group has committed. */
async function committedOffsets(): Promise<number> {
  const { KAFKA_BROKERS = '', KAFKA_TOPIC_PREFIX = '' } = surroundings.environment;
  const log = createLogger({ service: 'test', level: 'silent' });
  const admin = connectKafka({ brokers: KAFKA_BROKERS.split(','), clientId: 'test', log }).admin();
  await admin.connect();
  const [offsets] = await admin.fetchOffsets({
    groupId: `${KAFKA_TOPIC_PREFIX}webhook-dispatcher-events`,
    topics: [KAFKA_TOPIC_PREFIX + topics.documentAvailable.name],
  });
  await admin.disconnect();
  return (offsets?.partitions ?? []).reduce((sum, { offset }) => sum + Math.max(0, Number(offset)), 0);
}
