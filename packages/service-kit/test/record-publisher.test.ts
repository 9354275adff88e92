import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { waitUntil } from '@assistance/test-kit';
import { RecordPublisher } from '../src/index.ts';
import { log, record, startTopics, valuesOf, type TopicsOfTest } from './support/start-topics.ts';

let topics: TopicsOfTest;
beforeEach(async () => {
  topics = await startTopics();
});
afterEach(() => topics.stop());

const SOON = { timeoutMs: 15_000 };
const start = (kafka = topics.kafka): RecordPublisher => {
  const publisher = topics.keep(new RecordPublisher({ kafka, topicPrefix: topics.topicPrefix, log }));
  publisher.start();
  return publisher;
};

test('until it is connected it refuses, and nothing is sent', async () => {
  const publisher = new RecordPublisher({ kafka: topics.kafka, topicPrefix: topics.topicPrefix, log });
  expect(publisher.isReady()).toBe(false);
  await expect(publisher.publish([record('a', '1')])).rejects.toThrow('not connected');
  await publisher.publish([]);
});

test('records of several topics go in one call, the order of each key kept', async () => {
  const [things, others] = [topics.watch('things'), topics.watch('others')];
  await topics.publisher.publish([
    record('a', '1'),
    record('a', '1', 'others'),
    record('a', '2'),
    record('a', '2', 'others'),
  ]);
  await waitUntil(() => things.length === 2 && others.length === 2, SOON);
  expect([valuesOf(things), valuesOf(others)]).toEqual([
    ['1', '2'],
    ['1', '2'],
  ]);
});

test('what Kafka refuses is rejected, and the publisher goes on with a new producer', async () => {
  const things = topics.watch('things');
  const publisher = start();
  await waitUntil(() => publisher.isReady(), SOON);
  await expect(publisher.publish([{ ...record('a', ''), value: Buffer.alloc(2_000_000) }])).rejects.toThrow();
  await waitUntil(() => publisher.isReady(), SOON);
  await publisher.publish([record('a', 'next')]);
  await waitUntil(() => things.length === 1, SOON);
  expect(valuesOf(things)).toEqual(['next']);
});

test('what is under way when Kafka goes is sent once it is back', async () => {
  const things = topics.watch('things');
  const way = topics.createWay();
  const publisher = start(way.kafka);
  await waitUntil(() => publisher.isReady(), SOON);
  way.cut();
  const publishing = publisher.publish([record('a', '1')]);
  await waitUntil(() => way.refused() >= 2, SOON);
  way.restore();
  await publishing;
  await waitUntil(() => things.length === 1, SOON);
});
