import { type Topic } from '@assistance/types';
import {
  connectKafka,
  createLogger,
  createMetrics,
  provisionTopics,
  RecordConsumer,
  RecordPublisher,
  type OutgoingRecord,
  type ReceivedRecord,
} from '@assistance/service-kit';
import { testKafka, waitUntil } from '@assistance/test-kit';

/** Topics of this test alone, with all that is written to them. */
export interface TestTopics {
  /** What a process needs to use them. */
  environment: { KAFKA_BROKERS: string; KAFKA_TOPIC_PREFIX: string };
  publish(records: OutgoingRecord[]): Promise<void>;
  records(topic: string): ReceivedRecord[];
  close(): Promise<void>;
}

export async function startTopics(topics: Topic[]): Promise<TestTopics> {
  const { brokers, topicPrefix } = testKafka();
  const log = createLogger({ service: 'test', level: 'silent' });
  const kafka = connectKafka({ brokers, clientId: 'test', log });
  await provisionTopics({ kafka, topics, topicPrefix, partitions: 3, replicationFactor: 1 });
  const publisher = new RecordPublisher({ kafka, topicPrefix, log });
  const seen: ReceivedRecord[] = [];
  const consumer = new RecordConsumer({
    kafka,
    topicPrefix,
    groupId: 'test',
    topics: topics.map(({ name }) => name),
    deadLetterTopic: 'none',
    publisher,
    handle: async (records) => {
      seen.push(...records);
    },
    metrics: createMetrics('test'),
    log,
  });
  publisher.start();
  consumer.start();
  await waitUntil(() => publisher.isReady() && consumer.isReady(), { timeoutMs: 20_000 });
  return {
    environment: { KAFKA_BROKERS: brokers.join(','), KAFKA_TOPIC_PREFIX: topicPrefix },
    publish: (records) => publisher.publish(records),
    records: (topic) => seen.filter((record) => record.topic === topic),
    close: async () => {
      await consumer.stop();
      await publisher.stop();
    },
  };
}
