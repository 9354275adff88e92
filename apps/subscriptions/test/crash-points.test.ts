import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { holdStatements, waitUntil, type ServiceProcess } from '@assistance/test-kit';
import { topics } from '@assistance/types';
import { openDatabase } from '../src/open-database.ts';
import { callerOf, createSurroundings, subscribe, type Surroundings } from './create-surroundings.ts';

// Each test holds the running service at one point, from outside, kills it there, and starts it again.

let surroundings: Surroundings;
let prisma: ReturnType<typeof openDatabase>;
let service: ServiceProcess;

beforeAll(async () => {
  surroundings = await createSurroundings();
  prisma = openDatabase({ url: surroundings.database.url, poolSize: 2 });
  service = await surroundings.start();
  await service.untilReady();
}, 60_000);

afterAll(async () => {
  await prisma?.$disconnect();
  await surroundings?.close();
});

/** The leases of the dead one end; here at once, else after 10 s. */
async function startAgain(): Promise<void> {
  await prisma.outboxMember.deleteMany();
  await prisma.outboxLease.updateMany({ data: { until: null } });
  service = await surroundings.start();
  await waitUntil(async () => !(await service.missing()).includes('kafka-publisher'), { timeoutMs: 15_000 });
}

/** How many records of subscriptions are on Kafka. */
async function published(): Promise<number> {
  const admin = surroundings.kafka.admin();
  await admin.connect();
  const [offsets] = await admin.fetchTopicOffsets(surroundings.topicPrefix + topics.subscription.name);
  await admin.disconnect();
  return Number(offsets?.high);
}

test('before the commit of a change: neither the change nor what it tells is there', async () => {
  const held = await holdStatements({
    databaseUrl: surroundings.database.url,
    table: 'outbox',
    on: 'insert',
  });
  const lost = expect(subscribe(service, surroundings)).rejects.toThrow();
  await held.reached();
  await service.end('SIGKILL');
  await held.abandon();
  await held.release();
  await lost;
  expect([await prisma.subscription.count(), await prisma.outbox.count()]).toEqual([0, 0]);

  await startAgain();
  expect(await callerOf(service, surroundings).get('subscriptions').json()).toEqual([]);
  expect(await published()).toBe(0);
}, 60_000);

test('after the commit of a change, before it is published: it is published once', async () => {
  surroundings.ways.kafka.hang();
  expect((await subscribe(service, surroundings)).statusCode).toBe(201);
  // The relay has taken it up, and waits for Kafka.
  await waitUntil(async () => (await service.metric('outbox_oldest_seconds')) > 0);
  await service.end('SIGKILL');
  // What was on its way is lost, not late.
  await surroundings.ways.kafka.cut();
  await surroundings.ways.kafka.restore();
  expect([await prisma.outbox.count(), await published()]).toEqual([1, 0]);

  await startAgain();
  await waitUntil(async () => (await prisma.outbox.count()) === 0, { timeoutMs: 20_000 });
  expect(await published()).toBe(1);
}, 60_000);
