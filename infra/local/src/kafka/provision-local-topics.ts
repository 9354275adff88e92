import { topics } from '@assistance/types';

const partitions = 3;

/** Makes the topics of the table on a cluster of one broker, or on one's own with its default replication. */
export async function provisionLocalTopics(brokers: string[], topicPrefix: string): Promise<void> {
  // Loaded while Kafka starts, not before: it takes a third of a second.
  const { connectKafka, createLogger, provisionTopics } = await import('@assistance/service-kit');
  await provisionTopics({
    kafka: connectKafka({
      brokers,
      clientId: 'local-platform',
      log: createLogger({ service: 'local-platform', level: 'silent' }),
    }),
    topics: Object.values(topics),
    topicPrefix,
    partitions,
    replicationFactor: -1,
  });
}
