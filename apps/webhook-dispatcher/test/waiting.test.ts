import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  createReceiver,
  createWays,
  startServiceProcess,
  waitUntil,
  type Receiver,
  type ServiceProcess,
  type Ways,
} from '@assistance/test-kit';
import got from 'got';
import { createSurroundings, type Surroundings } from './start-dispatcher.ts';

const KAFKA = ['kafka-publisher', ...['events', 'subscriptions', 'commands'].map(consumerOf)];

let surroundings: Surroundings;
let receiver: Receiver;
let ways: Ways;
let dispatcher: ServiceProcess;

beforeAll(async () => {
  [surroundings, receiver] = await Promise.all([createSurroundings(), createReceiver()]);
  const { environment, database, issuer } = surroundings;
  const brokers = [environment['KAFKA_BROKERS'] ?? ''];
  ways = await createWays({
    ...{ databaseUrl: database.url, brokers, issuer },
    away: ['database', 'kafka', 'issuer'],
  });
  dispatcher = await startServiceProcess({
    folder: join(import.meta.dirname, '..'),
    environment: { ...environment, ...ways.environment },
  });
}, 60_000);

afterAll(async () => {
  await dispatcher?.end('SIGKILL');
  await Promise.all([ways?.close(), receiver?.close()]);
  await surroundings?.close();
});

function consumerOf(what: string): string {
  return `kafka-consumer webhook-dispatcher-${what}`;
}
const becomes = (...missing: string[]) =>
  waitUntil(async () => expect(await dispatcher.missing()).toEqual(missing) === undefined, {
    timeoutMs: 20_000,
    intervalMs: 50,
  });
const list = () =>
  got(`${dispatcher.url}/deliveries/v1/deliveries`, {
    headers: { authorization: `Bearer ${surroundings.issuer.token({ scopes: ['events:manage'] })}` },
    responseType: 'json',
    throwHttpErrors: false,
    retry: { limit: 0 },
  });

async function expectUnavailable(): Promise<void> {
  const { statusCode, headers, body } = await list();
  expect({ statusCode, body }).toEqual({
    statusCode: 503,
    body: { code: 'unavailable', message: expect.any(String), requestId: headers['x-request-id'] },
  });
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
}

test('begun without anything it is live and answers 503; as things come it takes up its work', async () => {
  await becomes('database', 'token-issuer', ...KAFKA);
  expect(await dispatcher.liveness()).toBe(200);
  await expectUnavailable();
  await ways.issuer.restore();
  await becomes('database', ...KAFKA);
  await expectUnavailable();
  await ways.database.restore();
  await becomes(...KAFKA);
  expect((await list()).statusCode).toBe(200);
  await ways.kafka.restore();
  await dispatcher.untilReady();
  await surroundings.subscribe({ callbackUrl: receiver.url });
  await surroundings.publishEvents(1);
  await receiver.waitForCount(1);
}, 60_000);

test('without the database it is not ready, but live; what comes meanwhile is delivered when it is back', async () => {
  await ways.database.cut();
  await becomes('database');
  expect(await dispatcher.liveness()).toBe(200);
  await expectUnavailable();
  await surroundings.publishEvents(1);
  await ways.database.restore();
  await dispatcher.untilReady();
  await receiver.waitForCount(2, 20_000);
}, 60_000);

test('a stop with Kafka and the database hanging ends within 10 s, with 0', async () => {
  ways.kafka.hang();
  ways.database.hang();
  await waitUntil(async () => (await dispatcher.missing()).includes('database'), { timeoutMs: 10_000 });
  const { code, durationMs } = await dispatcher.end('SIGTERM');
  expect(code).toBe(0);
  expect(durationMs).toBeLessThan(10_000);
}, 60_000);
