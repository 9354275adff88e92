import { expect, test } from '@jest/globals';
import pg from 'pg';
import {
  createKafkaProxy,
  createTcpProxy,
  createTestIssuer,
  testKafka,
  waitUntil,
} from '@assistance/test-kit';
import {
  connectKafka,
  createDatabaseCheck,
  createIssuerCheck,
  createTokenVerifier,
  RecordPublisher,
  tokenIssuer,
} from '../src/index.ts';
import { openTestDatabase, sqlOf } from './support/open-test-database.ts';
import { log, record, startTopics } from './support/start-topics.ts';

// Each waits for some 10 s of silence, so they wait together.

async function startProxied() {
  const topics = await startTopics();
  const way = await createKafkaProxy({ to: testKafka().brokers[0] ?? '' });
  const kafka = connectKafka({ brokers: [way.address], clientId: 'test', log });
  return {
    topics,
    way,
    kafka,
    stop: async () => {
      await way.restore();
      await topics.stop();
      await way.close();
    },
  };
}

test.concurrent.each(['cut', 'hang'] as const)(
  'a publisher is not ready when a record waits for 10 s, and ready again when it is acknowledged (%s)',
  async (how) => {
    const { topics, way, kafka, stop } = await startProxied();
    const publisher = topics.keep(new RecordPublisher({ kafka, topicPrefix: topics.topicPrefix, log }));
    publisher.start();
    await waitUntil(() => publisher.isReady());
    await way[how]();
    let acknowledged = false;
    const publishing = publisher.publish([record('a', '1')]).then(() => (acknowledged = true));
    const silentAt = performance.now();
    await waitUntil(() => !publisher.isReady(), { timeoutMs: 15_000 });
    expect(performance.now() - silentAt).toBeGreaterThan(9_000);
    expect(acknowledged).toBe(false);
    await way.restore();
    await publishing;
    expect(publisher.isReady()).toBe(true);
    await stop();
  },
  60_000,
);

test.concurrent.each(['cut', 'hang'] as const)(
  'a consumer is not ready when Kafka is silent for 10 s, and ready again when it answers (%s)',
  async (how) => {
    const { topics, way, kafka, stop } = await startProxied();
    const consumer = topics.consume({ kafka, groupId: how, handle: async () => undefined });
    await waitUntil(() => consumer.isReady(), { timeoutMs: 10_000 });
    await way[how]();
    await waitUntil(() => !consumer.isReady(), { timeoutMs: 15_000 });
    await way.restore();
    await waitUntil(() => consumer.isReady(), { timeoutMs: 40_000 });
    await stop();
  },
  90_000,
);

test.concurrent(
  'a database that does not answer for 3 s is not there, and is asked one question at a time',
  async () => {
    const database = await openTestDatabase();
    const url = new URL(database.url);
    const way = await createTcpProxy({ to: url.host });
    url.host = way.address;
    const pool = new pg.Pool({ connectionString: url.toString(), max: 8 });
    pool.on('error', () => undefined); // the drop may break what is just ending
    const check = createDatabaseCheck({ sql: sqlOf(pool), log });
    await check.start();
    await waitUntil(() => check.isReady());
    way.hang();
    await waitUntil(() => !check.isReady(), { timeoutMs: 6_000 });
    // Time enough for a second question.
    await new Promise((resolve) => setTimeout(resolve, 4_500));
    expect(pool.totalCount - pool.idleCount).toBe(1);
    await way.restore();
    await waitUntil(() => check.isReady());
    await check.stop();
    await pool.end();
    await way.close();
    await database.close();
  },
);

test.concurrent('an issuer is there once its keys were had, and stays so when it goes', async () => {
  const issuer = await createTestIssuer();
  const way = await createTcpProxy({ to: new URL(issuer.issuer).host, away: true });
  const jwksUri = `http://${way.address}/jwks`;
  const gone = { issuer: 'https://gone.example', jwksUri: 'http://127.0.0.1:1/jwks' };
  const verifier = createTokenVerifier({
    issuers: [gone, { issuer: issuer.issuer, jwksUri }].map((each) => tokenIssuer.parse(each)),
    audience: issuer.audience,
  });
  const check = createIssuerCheck({ verifier, log });
  await check.start();
  await expect(verifier.verify(issuer.token())).rejects.toThrow();
  expect(check.isReady()).toBe(false);
  await way.restore();
  await waitUntil(() => check.isReady(), { timeoutMs: 10_000 });
  await way.cut();
  expect(check.isReady()).toBe(true);
  expect((await verifier.verify(issuer.token())).clientId).toBe('test-client');
  await check.stop();
  await way.close();
  await issuer.close();
});
