import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import got from 'got';
import {
  cloudEventOf,
  connectKafka,
  createLogger,
  createMetrics,
  migrate,
  provisionTopics,
  RecordConsumer,
  RecordPublisher,
  structuredRecord,
  type ReceivedRecord,
} from '@assistance/service-kit';
import {
  createTestDatabase,
  createTestIssuer,
  runCommand,
  testKafka,
  waitUntil,
  type TestDatabase,
  type TestIssuer,
} from '@assistance/test-kit';
import { subscriptionRecord, topics } from '@assistance/types';

const log = createLogger({ service: 'test', level: 'silent' });
const metrics = createMetrics('test');
const { brokers, topicPrefix } = testKafka();
const kafka = connectKafka({ brokers, clientId: 'test', log });
const publisher = new RecordPublisher({ kafka, topicPrefix, log });
const published: ReceivedRecord[] = [];
const dispatcher = new RecordConsumer({
  kafka,
  groupId: 'dispatcher-of-the-test',
  topicPrefix,
  topics: [topics.subscription.name, topics.command.name],
  deadLetterTopic: topics.dispatcherDeadLetters.name,
  publisher,
  handle: async (records) => void published.push(...records),
  metrics,
  log,
});

let database: TestDatabase;
let issuer: TestIssuer;
let service: ChildProcess;
let base: string;
let ops: string;

beforeAll(async () => {
  [database, issuer] = await Promise.all([
    createTestDatabase({ template: 'subscriptions', migrate: (url) => migrate(url, 'prisma/migrations') }),
    createTestIssuer(),
    provisionTopics({
      kafka,
      topics: [topics.subscription, topics.command, topics.report, topics.subscriptionsDeadLetters],
      topicPrefix,
      partitions: 1,
      replicationFactor: 1,
    }),
  ]);
  publisher.start();
  dispatcher.start();
  const [httpPort, opsPort] = [await freePort(), await freePort()];
  base = `http://localhost:${httpPort}/events/v1`;
  ops = `http://localhost:${opsPort}`;
  const key = randomBytes(32).toString('base64');
  service = start({
    HTTP_PORT: String(httpPort),
    OPS_PORT: String(opsPort),
    DATABASE_URL: database.url,
    KAFKA_BROKERS: brokers.join(','),
    KAFKA_TOPIC_PREFIX: topicPrefix,
    TOKEN_AUDIENCE: issuer.audience,
    TOKEN_ISSUERS: JSON.stringify([{ issuer: issuer.issuer }]),
    KEY_RING: JSON.stringify({ current: 'k1', keys: { k1: key } }),
    CURSOR_KEY: key,
    LOG_LEVEL: 'warn',
  });
  await waitUntil(() => got(`${ops}/readyz`, { retry: { limit: 0 } }).then(() => true), {
    timeoutMs: 20_000,
  });
});

afterAll(async () => {
  if (service.exitCode === null) service.kill('SIGKILL');
  await dispatcher.stop();
  await publisher.stop();
  await issuer.close();
  await database.drop();
});

const start = (env: Record<string, string>): ChildProcess =>
  spawn(process.execPath, ['--conditions=source', 'src/main.ts'], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, json?: object) => {
  const authorization = `Bearer ${issuer.token({ clientId: 'partner', scopes: ['events:manage'] })}`;
  const { body } = await got(base + path, {
    method,
    headers: { authorization },
    ...(json === undefined ? {} : { json }),
  });
  return body === '' ? undefined : JSON.parse(body);
};

const received = (topic: string, count: number): Promise<ReceivedRecord[]> =>
  waitUntil(
    () => {
      const found = published.filter((record) => record.topic === topic);
      return found.length >= count ? found : undefined;
    },
    { timeoutMs: 15_000 },
  );

test('a subscription reaches the compacted topic, a report comes back, and a stop is graceful', async () => {
  const { subscriptionId } = await call('POST', '/subscriptions', {
    eventTypes: ['application.decided'],
    callbackUrl: 'https://example.com/hooks',
  });
  const path = `/subscriptions/${subscriptionId}`;
  const { replayId } = await call('POST', `${path}/replay`);
  await call('PATCH', path, { ordering: 'subject' });

  const records = await received(topics.subscription.name, 2);
  expect(records.map(({ key }) => key)).toEqual([subscriptionId, subscriptionId]);
  expect(records[0]?.headers).toMatchObject({
    'content-type': 'application/json',
    ce_specversion: '1.0',
    ce_type: 'subscription.recorded',
    ce_subject: subscriptionId,
  });
  const states = records.map(({ value }) => subscriptionRecord.parse(JSON.parse(String(value))));
  expect(states.map(({ version, ordering }) => [version, ordering])).toEqual([
    [1, 'none'],
    [2, 'subject'],
  ]);
  const [command] = await received(topics.command.name, 1);
  expect(JSON.parse(String(command?.value))).toMatchObject({
    type: 'subscription.replay_requested',
    data: { subscriptionId, replayId, version: 1 },
  });

  const since = '2026-01-01T00:00:00.000Z';
  await publisher.publish([
    report(subscriptionId, 'subscription.status_judged', {
      statusEpoch: 1,
      number: 1,
      status: 'failing',
      reason: { code: 'failing', since },
    }),
    { ...report(subscriptionId, 'x', {}), value: Buffer.from('no event') },
    report(subscriptionId, 'subscription.replay_progressed', {
      replayId,
      number: 1,
      status: 'completed',
      completedAt: since,
      progress: { matched: 2, delivered: 2, pending: 0, dead: 0, cancelled: 0, expired: 0 },
    }),
  ]);
  await waitUntil(async () => (await call('GET', `${path}/replays/${replayId}`)).status === 'completed', {
    timeoutMs: 15_000,
  });
  expect(await call('GET', path)).toMatchObject({
    status: 'failing',
    statusReason: { code: 'failing', since },
  });
  expect(await got(`${ops}/metrics`).text()).toMatch(/kafka_records_dead_lettered_total\{[^}]*\} 1\n/);

  service.kill('SIGTERM');
  const [exitCode] = await once(service, 'exit');
  expect(exitCode).toBe(0);
});

test('what it could not take the operator lists, and puts back to where it reads', async () => {
  const letters = async (...args: [string, ...string[]]) => {
    const { output } = await runCommand({
      folder: join(import.meta.dirname, '..'),
      command: ['dead-letters', ...args],
      environment: { KAFKA_BROKERS: brokers.join(','), KAFKA_TOPIC_PREFIX: topicPrefix },
    });
    return output;
  };
  const list = await letters('list');
  expect(list).toContain(topics.report.name);
  expect(list).toContain('1 dead letters, 0 of them put back.');
  expect(await letters('replay', 'all')).toBe('1 dead letters put back.\n');
  expect(await letters('list')).toContain('1 dead letters, 1 of them put back.');
}, 60_000);

test('with a configuration that is not usable it ends with 1 and names every fault, no value among them', async () => {
  const broken = start({
    HTTP_PORT: '70000',
    DATABASE_URL: 'mysql://user:hunter2@db/x',
    CALLBACK_RULES: 'anything',
    CALLBACK_ALLOWED_NETWORKS: '10.0.0.0/8,10.0.0.0/99',
    SECRET_OVERLAP_MS: 'a day',
    KEY_RING: '{"current":"k2","keys":{"k1":"c2hvcnQ="}}',
  });
  let said = '';
  broken.stderr?.on('data', (chunk) => (said += String(chunk)));
  const [exitCode] = await once(broken, 'close');
  expect(exitCode).toBe(1);
  for (const name of [
    ...[
      'HTTP_PORT',
      'OPS_PORT',
      'DATABASE_URL',
      'KAFKA_BROKERS',
      'TOKEN_AUDIENCE',
      'TOKEN_ISSUERS',
      'KEY_RING',
    ],
    ...['CURSOR_KEY', 'CALLBACK_RULES', 'CALLBACK_ALLOWED_NETWORKS', 'SECRET_OVERLAP_MS'],
  ]) {
    expect(said).toMatch(new RegExp(`^  ${name}`, 'm'));
  }
  for (const value of ['hunter2', 'c2hvcnQ=', 'a day', '/99']) expect(said).not.toContain(value);
});

const report = (subscriptionId: string, type: string, data: object) =>
  structuredRecord(
    topics.report.name,
    cloudEventOf({
      id: randomUUID(),
      source: '/test',
      type,
      subject: subscriptionId,
      time: new Date(),
      data: { subscriptionId, ...data },
    }),
  );
