import { describe, expect, test } from '@jest/globals';
import { waitUntil } from '@assistance/test-kit';
import { OUTBOX_SHARDS, outboxRow, RecordPublisher, shardOf } from '../src/index.ts';
import { log, record, valuesOf } from './support/start-topics.ts';
import { numbered, numbers, withOutbox } from './support/with-outbox.ts';

test.concurrent(
  'publishes what is committed, as it is, and then deletes it',
  withOutbox(async ({ topics, startRelay, insert, empty, things }) => {
    const others = topics.watch('others');
    startRelay();
    await insert(record('a', 'one'), {
      ...record('b', 'x', 'others'),
      value: null,
      headers: { ce_id: '1', ce_type: 't' },
    });
    await waitUntil(() => things.length === 1 && others.length === 1, { timeoutMs: 15_000 });
    expect(things[0]).toMatchObject({ topic: 'things', key: 'a', headers: { 'content-type': 'text/plain' } });
    expect(String(things[0]?.value)).toBe('one');
    expect(others[0]).toMatchObject({ key: 'b', value: null, headers: { ce_id: '1', ce_type: 't' } });
    await empty();
  }),
);

test.concurrent(
  'keeps the order of each key, however many there are',
  withOutbox(async ({ startRelay, insert, things }) => {
    startRelay();
    const keys = ['a', 'b', 'c', 'd', 'e'];
    for (let start = 0; start < 300; start += 30) {
      await insert(...numbers(start, start + 30).flatMap((n) => keys.map((key) => record(key, n))));
    }
    await waitUntil(() => things.length >= 1_500, { timeoutMs: 20_000 });
    for (const key of keys) expect(valuesOf(things, key)).toEqual(numbers(0, 300));
  }),
);

test.concurrent(
  'two relays publish each record once between them, and a stop of one loses none',
  withOutbox(async ({ startRelay, insert, empty, things }) => {
    const one = startRelay();
    startRelay();
    for (let start = 0; start < 400; start += 20) {
      await insert(...['a', 'b', 'c', 'd'].flatMap((key) => numbered(key, start, start + 20)));
      if (start === 200) await one.stop();
    }
    await empty();
    await waitUntil(() => things.length >= 1_600, { timeoutMs: 15_000 });
    for (const key of ['a', 'b', 'c', 'd']) expect(valuesOf(things, key)).toEqual(numbers(0, 400));
  }),
);

test.concurrent(
  'dying between the publication and the deletion publishes again, in order, and loses nothing',
  withOutbox(async ({ database, startRelay, insert, empty, things }) => {
    let deaths = 0;
    startRelay({
      sql: {
        ...database.sql,
        $executeRawUnsafe: (text, ...values) =>
          text.startsWith('delete from outbox') && deaths++ < 2
            ? Promise.reject(new Error('died'))
            : database.sql.$executeRawUnsafe(text, ...values),
      },
    });
    await insert(...numbered('a', 0, 3));
    await empty();
    await waitUntil(() => things.length >= 9, { timeoutMs: 15_000 });
    expect(valuesOf(things)).toEqual([...numbers(0, 3), ...numbers(0, 3), ...numbers(0, 3)]);
  }),
);

describe('while Kafka is away', () => {
  test.concurrent(
    'rows stay, are published when it is back, and none is lost',
    withOutbox(async ({ topics, startRelay, insert, left, empty, things }) => {
      const way = topics.createWay();
      const publisher = topics.keep(
        new RecordPublisher({ kafka: way.kafka, topicPrefix: topics.topicPrefix, log }),
      );
      publisher.start();
      startRelay({ publisher });
      await insert(...numbered('a', 0, 10));
      await empty();
      way.cut();
      await insert(...numbered('a', 10, 20));
      await waitUntil(() => way.refused() >= 3, { timeoutMs: 10_000 });
      expect(await left()).toBe(10);
      way.restore();
      await empty();
      await waitUntil(() => new Set(valuesOf(things)).size === 20, { timeoutMs: 15_000 });
      expect([...new Set(valuesOf(things))]).toEqual(numbers(0, 20));
    }),
  );

  test.concurrent(
    'a stop does not wait for it',
    withOutbox(async ({ topics, startRelay, insert, left, empty }) => {
      const way = topics.createWay();
      const publisher = new RecordPublisher({ kafka: way.kafka, topicPrefix: topics.topicPrefix, log });
      publisher.start();
      await waitUntil(() => publisher.isReady(), { timeoutMs: 10_000 });
      const relay = startRelay({ publisher });
      await insert(record('a', '0'));
      await empty();
      way.cut();
      await insert(record('a', '1'));
      const startedAt = performance.now();
      await relay.stop();
      await publisher.stop();
      expect(performance.now() - startedAt).toBeLessThan(8_000);
      expect(await left()).toBe(1);
    }),
  );
});

test.concurrent(
  'a shard with more than a turn holds does not keep the others waiting',
  withOutbox(async ({ startRelay, insert, empty, things }) => {
    const busy = 'key-0';
    const shard = shardOf(busy, OUTBOX_SHARDS);
    const patient = numbers(1, 1_000)
      .map((n) => `key-${n}`)
      .find((key) => shardOf(key, OUTBOX_SHARDS) > shard)!;
    await insert(
      ...numbered(busy, 0, 400).map((each) => ({ ...each, value: Buffer.alloc(20_000, each.value!) })),
      record(patient, 'short'),
    );
    startRelay();
    await empty();
    await waitUntil(() => things.length === 401, { timeoutMs: 15_000 });
    const publishedBefore = things.filter(
      ({ key, timestamp }) =>
        key === busy && timestamp < things.find((each) => each.key === patient)!.timestamp,
    );
    expect(publishedBefore.length).toBeLessThan(100);
  }),
);

test('a record that Kafka would never take is refused before it is in the outbox', () => {
  expect(() => outboxRow({ ...record('a', ''), value: Buffer.alloc(900_001) })).toThrow(RangeError);
  expect(outboxRow({ ...record('a', ''), value: Buffer.alloc(900_000) }).shard).toBe(
    shardOf('a', OUTBOX_SHARDS),
  );
});
