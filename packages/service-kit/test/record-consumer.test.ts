import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { testKafka, waitUntil } from '@assistance/test-kit';
import { createMetrics, UnacceptableRecord, type ReceivedRecord } from '../src/index.ts';
import { openTestDatabase } from './support/open-test-database.ts';
import { muteConnections } from './support/mute-connections.ts';
import { refuseJoining } from './support/refuse-joining.ts';
import { log as silent, record, startTopics, valuesOf, type TopicsOfTest } from './support/start-topics.ts';

const withTopics = (body: (topics: TopicsOfTest) => Promise<void>) => async () => {
  const topics = await startTopics();
  try {
    await body(topics);
  } finally {
    await topics.stop();
  }
};

const SOON = { timeoutMs: 15_000 };
const numbered = (key: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => record(key, String(from + i)));
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => String(from + i));

test.concurrent(
  'hands over each partition in order, with everything that a record has',
  withTopics(async (topics) => {
    const taken: ReceivedRecord[] = [];
    const chunks: number[] = [];
    await topics.publisher.publish([
      ...numbered('a', 0, 50),
      ...numbered('b', 0, 50),
      { ...record('c', ''), value: null },
    ]);
    topics.consume({
      groupId: 'one',
      chunkSize: 20,
      handle: async (records) => {
        chunks.push(records.length);
        expect(new Set(records.map(({ partition }) => partition)).size).toBe(1);
        taken.push(...records);
      },
    });
    await waitUntil(() => taken.length === 101, SOON);
    expect(valuesOf(taken, 'a')).toEqual(numbers(0, 50));
    expect(valuesOf(taken, 'b')).toEqual(numbers(0, 50));
    expect(Math.max(...chunks)).toBeLessThanOrEqual(20);
    expect(taken.find(({ key }) => key === 'c')).toMatchObject({
      topic: 'things',
      value: null,
      headers: { 'content-type': 'text/plain' },
      timestamp: expect.any(Date),
      offset: expect.stringMatching(/^\d+$/),
    });
  }),
);

test.concurrent(
  'reads from the beginning what was there before its group',
  withTopics(async (topics) => {
    await topics.publisher.publish(numbered('a', 0, 3));
    const taken = topics.watch('things');
    await waitUntil(() => taken.length === 3, SOON);
  }),
);

describe('a record that can never be taken', () => {
  test.concurrent(
    'is found, dead-lettered with where it came from and why, and the rest are taken in order',
    withTopics(async (topics) => {
      const metrics = createMetrics('test');
      const dead = topics.watch('dlq');
      const taken: ReceivedRecord[] = [];
      await topics.publisher.publish(numbered('a', 0, 40));
      topics.consume({
        groupId: 'one',
        metrics,
        handle: async (records) => {
          if (records.some(({ value }) => ['7', '8', '31'].includes(String(value)))) {
            throw new UnacceptableRecord('it is one of those');
          }
          taken.push(...records);
        },
      });
      await waitUntil(() => dead.length === 3 && taken.length === 37, SOON);
      expect(valuesOf(taken)).toEqual(numbers(0, 40).filter((n) => !['7', '8', '31'].includes(n)));
      expect(valuesOf(dead)).toEqual(['7', '8', '31']);
      expect(dead[0]).toMatchObject({
        key: 'a',
        headers: {
          'content-type': 'text/plain',
          'dlq-topic': 'things',
          'dlq-partition': expect.stringMatching(/^[01]$/),
          'dlq-offset': '7',
          'dlq-code': 'unacceptable',
          'dlq-error': 'it is one of those',
          'dlq-at': expect.stringMatching(/^\d{4}-/),
        },
      });
      expect(await metrics.registry.metrics()).toMatch(
        /kafka_records_dead_lettered_total\{topic="things",service="test"\} 3/,
      );
    }),
  );

  test.concurrent(
    'may be one that the database refuses as data; what it says is not repeated',
    withTopics(async (topics) => {
      const database = await openTestDatabase();
      await database.pool.query('create table thing (n int primary key, name text not null)');
      const dead = topics.watch('dlq');
      await topics.publisher.publish([
        record('a', '0'),
        record('a', 'secret\0'),
        record('a', '2'),
        record('a', '2'),
      ]);
      topics.consume({
        groupId: 'one',
        handle: async (records) => {
          await database.pool.query(
            'insert into thing select n, name from unnest($1::int[], $2::text[]) as t (n, name)',
            [records.map(({ offset }) => Number(offset)), records.map(({ value }) => String(value))],
          );
        },
      });
      await waitUntil(() => dead.length === 1, SOON);
      expect(dead[0]?.headers['dlq-error']).toBe('the database refused it as data');
      await waitUntil(async () => (await database.pool.query('select 1 from thing')).rowCount === 3, SOON);
      await database.close();
    }),
  );
});

test.concurrent(
  'a handler that fails is tried again until it passes; nothing is skipped, nothing is dead-lettered',
  withTopics(async (topics) => {
    const dead = topics.watch('dlq');
    const taken: ReceivedRecord[] = [];
    let failures = 0;
    await topics.publisher.publish(numbered('a', 0, 10));
    topics.consume({
      groupId: 'one',
      chunkSize: 4,
      handle: async (records) => {
        if (String(records[0]?.value) === '4' && ++failures <= 4) throw new Error('the database is away');
        taken.push(...records);
      },
    });
    await waitUntil(() => taken.length === 10, SOON);
    expect(failures).toBe(5);
    expect(valuesOf(taken)).toEqual(numbers(0, 10));
    expect(dead).toEqual([]);
  }),
);

describe('a restart', () => {
  test.concurrent(
    'resumes behind what was taken',
    withTopics(async (topics) => {
      const first: ReceivedRecord[] = [];
      await topics.publisher.publish(numbered('a', 0, 10));
      const one = topics.consume({ groupId: 'one', handle: async (records) => void first.push(...records) });
      await waitUntil(() => first.length === 10, SOON);
      await one.stop();
      await topics.publisher.publish(numbered('a', 10, 20));
      const second: ReceivedRecord[] = [];
      topics.consume({ groupId: 'one', handle: async (records) => void second.push(...records) });
      await waitUntil(() => second.length >= 10, SOON);
      expect(valuesOf(second)).toEqual(numbers(10, 20));
    }),
  );

  test.concurrent(
    'in the middle of a failure ends within seconds; the next one takes what was not taken, from the first on',
    withTopics(async (topics) => {
      await topics.publisher.publish(numbered('a', 0, 10));
      let failures = 0;
      const taken: string[] = [];
      const one = topics.consume({
        groupId: 'one',
        chunkSize: 3,
        handle: async (records) => {
          if (valuesOf(records).includes('4')) {
            failures += 1;
            throw new Error('the database is away');
          }
          taken.push(...valuesOf(records));
        },
      });
      await waitUntil(() => failures >= 2, SOON);
      const startedAt = performance.now();
      await one.stop();
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      expect(taken).toEqual(numbers(0, 3));
      const rest: ReceivedRecord[] = [];
      topics.consume({ groupId: 'one', handle: async (records) => void rest.push(...records) });
      await waitUntil(() => valuesOf(rest).includes('9'), SOON);
      expect(valuesOf(rest)).toEqual(numbers(3, 10));
    }),
  );
});

test.concurrent(
  'two of a group share the partitions, and one takes over when the other stops',
  withTopics(async (topics) => {
    const one: ReceivedRecord[] = [];
    const two: ReceivedRecord[] = [];
    const first = topics.consume({ groupId: 'one', handle: async (records) => void one.push(...records) });
    topics.consume({ groupId: 'one', handle: async (records) => void two.push(...records) });
    const keys = Array.from({ length: 40 }, (_, i) => `key-${i}`);
    let sent = 0;
    await waitUntil(
      async () => {
        await topics.publisher.publish(keys.map((key) => record(key, String(sent))));
        sent += 1;
        return one.length > 0 && two.length > 0;
      },
      { ...SOON, intervalMs: 200 },
    );
    await first.stop();
    const before = two.length;
    await topics.publisher.publish(keys.map((key) => record(key, 'last')));
    await waitUntil(
      () => two.slice(before).filter(({ value }) => String(value) === 'last').length === 40,
      SOON,
    );
    for (const key of keys) {
      expect(new Set(valuesOf([...one, ...two], key))).toEqual(new Set([...numbers(0, sent), 'last']));
    }
  }),
);

describe('while Kafka is away', () => {
  test.concurrent(
    'it waits, and goes on where it was',
    withTopics(async (topics) => {
      const way = topics.createWay();
      const taken: ReceivedRecord[] = [];
      topics.consume({
        groupId: 'one',
        kafka: way.kafka,
        handle: async (records) => void taken.push(...records),
      });
      await topics.publisher.publish(numbered('a', 0, 5));
      await waitUntil(() => taken.length === 5, SOON);
      way.cut();
      await topics.publisher.publish(numbered('a', 5, 10));
      await waitUntil(() => way.refused() >= 3, SOON);
      way.restore();
      await waitUntil(() => new Set(valuesOf(taken)).size === 10, SOON);
      expect([...new Set(valuesOf(taken))]).toEqual(numbers(0, 10));
    }),
  );

  test.concurrent(
    'a start does not fail and is not ready; it joins when Kafka is there',
    withTopics(async (topics) => {
      const way = topics.createWay();
      way.cut();
      const taken: ReceivedRecord[] = [];
      const consumer = topics.consume({
        groupId: 'one',
        kafka: way.kafka,
        handle: async (records) => void taken.push(...records),
      });
      await waitUntil(() => way.refused() >= 2, SOON);
      expect(consumer.isReady()).toBe(false);
      way.restore();
      await waitUntil(() => consumer.isReady(), SOON);
      await topics.publisher.publish(numbered('a', 0, 1));
      await waitUntil(() => taken.length === 1, SOON);
    }),
  );

  for (const since of ['from the start', 'after it had joined']) {
    test.concurrent(
      `a stop does not wait for it (${since})`,
      withTopics(async (topics) => {
        const way = topics.createWay();
        if (since === 'from the start') way.cut();
        const consumer = topics.consume({
          groupId: 'one',
          kafka: way.kafka,
          handle: async () => undefined,
        });
        if (since !== 'from the start') {
          await waitUntil(() => consumer.isReady(), SOON);
          way.cut();
        }
        await waitUntil(() => way.refused() >= 2, SOON);
        const startedAt = performance.now();
        await consumer.stop();
        expect(performance.now() - startedAt).toBeLessThan(6_000);
        way.restore();
      }),
    );
  }
});

describe('a consumer that crashed is replaced, and logged', () => {
  for (const [why, errorCode, level] of [
    ['as a warning when that passes, as while a coordinator loads', 14, 'warn'],
    ['as an error when it does not, as where a foreign consumer has the group', 23, 'error'],
  ] as const) {
    test.concurrent(
      why,
      withTopics(async (topics) => {
        const lines: string[] = [];
        const formatters = { level: (label: string) => ({ level: label }) };
        const log = pino({ formatters }, { write: (line) => void lines.push(line) });
        const taken: ReceivedRecord[] = [];
        topics.consume({
          groupId: 'one',
          kafka: refuseJoining(testKafka().brokers, errorCode, silent),
          log,
          handle: async (records) => void taken.push(...records),
        });
        await topics.publisher.publish(numbered('a', 0, 1));
        await waitUntil(() => taken.length === 1, SOON);
        const crashes = lines
          .map((line) => JSON.parse(line) as { level: string; msg: string })
          .filter(({ msg }) => msg === 'kafka.consumer_crashed');
        expect(crashes.map((crash) => crash.level)).toEqual([level]);
      }),
    );
  }
});

test.concurrent(
  'a consumer of which nothing is heard is replaced, long before its requests are given up',
  withTopics(async (topics) => {
    const { kafka, mute, end } = muteConnections(testKafka().brokers, silent);
    topics.keep({ name: 'muted connections', start: () => undefined, stop: end });
    const taken: ReceivedRecord[] = [];
    const consumer = topics.consume({
      groupId: 'one',
      kafka,
      silentMs: 4_000,
      handle: async (records) => void taken.push(...records),
    });
    await topics.publisher.publish(numbered('a', 0, 1));
    await waitUntil(() => taken.length === 1 && consumer.isReady(), SOON);
    mute();
    await topics.publisher.publish(numbered('a', 1, 2));
    await waitUntil(() => new Set(valuesOf(taken)).size === 2, { timeoutMs: 28_000 });
    await waitUntil(() => consumer.isReady(), SOON);
  }),
  45_000,
);

test.concurrent(
  'a consumer that has nothing to read is heard of, and stays',
  withTopics(async (topics) => {
    const lines: string[] = [];
    const log = pino({}, { write: (line) => void lines.push(line) });
    const handle = () => Promise.resolve();
    const consumer = topics.consume({ groupId: 'one', silentMs: 6_000, log, handle });
    await waitUntil(() => consumer.isReady(), SOON);
    const since = performance.now();
    await waitUntil(() => performance.now() - since > 9_000, { timeoutMs: 30_000 });
    expect(consumer.isReady()).toBe(true);
    expect(lines.filter((line) => line.includes('kafka.consumer_silent'))).toEqual([]);
  }),
  60_000,
);
