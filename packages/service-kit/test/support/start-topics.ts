import type { Kafka } from 'kafkajs';
import { testKafka, waitUntil } from '@assistance/test-kit';
import type { Topic } from '@assistance/types';
import {
  connectKafka,
  createLogger,
  createMetrics,
  provisionTopics,
  RecordConsumer,
  RecordPublisher,
  type OutgoingRecord,
  type Part,
  type ReceivedRecord,
  type RecordConsumerOptions,
} from '../../src/index.ts';
import { createWay, type Way } from './create-way.ts';

export const log = createLogger({ service: 'test', level: 'silent' });

export interface TopicsOfTest {
  /** The test's own way to Kafka, always open. */
  kafka: Kafka;
  topicPrefix: string;
  publisher: RecordPublisher;
  createWay(): Way;
  /** A consumer of `things` in a group; stopped with the test. */
  consume(
    options: Pick<RecordConsumerOptions, 'groupId' | 'handle'> & Partial<RecordConsumerOptions>,
  ): RecordConsumer;
  /** All that has come to a topic so far and from now on. */
  watch(topic: string): ReceivedRecord[];
  /** Stops with the test whatever is still running. */
  keep<P extends Part>(part: P): P;
  stop(): Promise<void>;
}

/** The topics `things` (of two partitions), `others` and `dlq`, of this test alone. */
export async function startTopics(): Promise<TopicsOfTest> {
  const { brokers, topicPrefix } = testKafka();
  const kafka = connectKafka({ brokers, clientId: 'test', log });
  await provisionTopics({
    kafka,
    topics: ['things', 'others', 'dlq'].map(topicOf),
    topicPrefix,
    partitions: 2,
    replicationFactor: 1,
  });
  const parts: Part[] = [];
  const keep = <P extends Part>(part: P): P => {
    parts.push(part);
    return part;
  };
  const publisher = keep(new RecordPublisher({ kafka, topicPrefix, log }));
  publisher.start();
  await waitUntil(() => publisher.isReady(), { timeoutMs: 10_000 });
  let watchers = 0;

  const consume: TopicsOfTest['consume'] = (options) => {
    const consumer = new RecordConsumer({
      kafka,
      topicPrefix,
      topics: ['things'],
      deadLetterTopic: 'dlq',
      publisher,
      metrics: createMetrics('test'),
      log,
      ...options,
    });
    consumer.start();
    return keep(consumer);
  };
  return {
    kafka,
    topicPrefix,
    publisher,
    consume,
    keep,
    createWay: () => createWay(brokers, log),
    watch: (topic) => {
      const seen: ReceivedRecord[] = [];
      consume({
        groupId: `watcher-${++watchers}`,
        topics: [topic],
        handle: async (records) => void seen.push(...records),
      });
      return seen;
    },
    stop: async () => {
      for (const part of parts.reverse()) await part.stop();
    },
  };
}

const topicOf = (name: string): Topic => ({
  name,
  description: 'Of a test.',
  key: 'id',
  mode: 'structured',
  types: [],
  producer: 'applications',
  consumers: [],
  policy: 'delete',
  retentionDays: 1,
});

export const record = (key: string, value: string, topic = 'things'): OutgoingRecord => ({
  topic,
  key,
  value: Buffer.from(value),
  headers: { 'content-type': 'text/plain' },
});

export const valuesOf = (records: ReceivedRecord[], key?: string): string[] =>
  records.filter((each) => key === undefined || each.key === key).map(({ value }) => String(value));
