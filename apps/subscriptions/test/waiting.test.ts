import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connectKafka, createLogger, migrate, provisionTopics } from '@assistance/service-kit';
import {
  createTestDatabase,
  createTestIssuer,
  createWays,
  refuseForSpace,
  startServiceProcess,
  testKafka,
  waitUntil,
  type ServiceProcess,
  type TestDatabase,
  type TestIssuer,
  type Ways,
} from '@assistance/test-kit';
import { topics } from '@assistance/types';
import got from 'got';

const KAFKA = ['kafka-publisher', 'kafka-consumer subscriptions'];

let database: TestDatabase;
let issuer: TestIssuer;
let ways: Ways;
let service: ServiceProcess;

beforeAll(async () => {
  const { brokers, topicPrefix } = testKafka();
  const log = createLogger({ service: 'test', level: 'silent' });
  [database, issuer] = await Promise.all([
    createTestDatabase({ template: 'subscriptions', migrate: (url) => migrate(url, 'prisma/migrations') }),
    createTestIssuer(),
    provisionTopics({
      ...{ kafka: connectKafka({ brokers, clientId: 'test', log }), topicPrefix },
      ...{ partitions: 1, replicationFactor: 1 },
      topics: [topics.subscription, topics.command, topics.report, topics.subscriptionsDeadLetters],
    }),
  ]);
  ways = await createWays({
    ...{ databaseUrl: database.url, brokers, issuer },
    away: ['database', 'kafka', 'issuer'],
  });
  const key = randomBytes(32).toString('base64');
  const environment = {
    ...ways.environment,
    KAFKA_TOPIC_PREFIX: topicPrefix,
    KEY_RING: JSON.stringify({ current: 'k1', keys: { k1: key } }),
    CURSOR_KEY: key,
  };
  service = await startServiceProcess({ folder: process.cwd(), environment });
}, 60_000);

afterAll(async () => {
  await service?.end('SIGKILL');
  await Promise.all([ways?.close(), issuer?.close()]);
  await database?.drop();
});

const becomes = (...missing: string[]) =>
  waitUntil(async () => expect(await service.missing()).toEqual(missing) === undefined, {
    timeoutMs: 20_000,
    intervalMs: 50,
  });
const subscribe = () =>
  got.post(`${service.url}/events/v1/subscriptions`, {
    headers: { authorization: `Bearer ${issuer.token({ scopes: ['events:manage'] })}` },
    json: { eventTypes: ['document.available'], callbackUrl: 'https://example.com/hook' },
    responseType: 'json',
    throwHttpErrors: false,
    retry: { limit: 0 },
  });

async function expectUnavailable(): Promise<void> {
  const { statusCode, headers, body } = await subscribe();
  expect({ statusCode, body }).toEqual({
    statusCode: 503,
    body: { code: 'unavailable', message: expect.any(String), requestId: headers['x-request-id'] },
  });
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
}

test('begun without anything it is live and answers 503; as things come it takes up its work', async () => {
  await becomes('database', 'token-issuer', ...KAFKA);
  expect(await service.liveness()).toBe(200);
  await expectUnavailable();
  await ways.issuer.restore();
  await becomes('database', ...KAFKA);
  await expectUnavailable();
  await ways.database.restore();
  await becomes(...KAFKA);
  expect((await subscribe()).statusCode).toBe(201);
  await ways.kafka.restore();
  await service.untilReady();
}, 60_000);

test('no space: 503, nothing is kept or acknowledged, a line says why, and then it goes on', async () => {
  const space = await refuseForSpace(database.url, 'outbox');
  await expectUnavailable();
  await waitUntil(() => service.output().includes('No space left on device'));
  await space.lift();
  expect((await subscribe()).statusCode).toBe(201);
  const { body } = await got<unknown[]>(`${service.url}/events/v1/subscriptions`, {
    headers: { authorization: `Bearer ${issuer.token({ scopes: ['events:manage'] })}` },
    responseType: 'json',
  });
  expect(body).toHaveLength(2);
});

test('without the database it is not ready, but live, and can be stopped', async () => {
  await ways.database.cut();
  await becomes('database');
  expect(await service.liveness()).toBe(200);
  await expectUnavailable();
  ways.kafka.hang();
  const { code, durationMs } = await service.end('SIGTERM');
  expect(code).toBe(0);
  expect(durationMs).toBeLessThan(10_000);
}, 60_000);
