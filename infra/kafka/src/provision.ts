// Makes the topics of the table in the Kafka of KAFKA_BROKERS, and sets the policy of those that are there. Safe to repeat.
import { z } from 'zod';
import { topics, type Topic } from '@assistance/types';
import {
  connectKafka,
  createLogger,
  numberVariable,
  provisionTopics,
  readConfig,
  serviceConfig,
} from '@assistance/service-kit';

const env = readConfig(
  z.object({
    KAFKA_BROKERS: serviceConfig.shape.KAFKA_BROKERS,
    KAFKA_TOPIC_PREFIX: serviceConfig.shape.KAFKA_TOPIC_PREFIX,
    TOPIC_PARTITIONS: numberVariable(12, { min: 1, max: 1_000 }),
    TOPIC_REPLICATION: numberVariable(3, { min: 1, max: 10 }),
  }),
  process.env,
);
const log = createLogger({ service: 'kafka-topics', level: 'info' });
await provisionTopics({
  kafka: connectKafka({ brokers: env.KAFKA_BROKERS, clientId: 'kafka-topics', log }),
  topics: Object.values<Topic>(topics),
  topicPrefix: env.KAFKA_TOPIC_PREFIX,
  partitions: env.TOPIC_PARTITIONS,
  replicationFactor: env.TOPIC_REPLICATION,
});
log.info({ topics: Object.keys(topics).length }, 'topics.provisioned');
