import kafkajs, { type Kafka } from 'kafkajs';
import type { Topic } from '@assistance/types';

// Node finds only a few of this CommonJS package's exports by name.
const { ConfigResourceTypes } = kafkajs;

const DAY_MS = 86_400_000;
const LEADERS_MS = 15_000;
const ASK_AGAIN_MS = 50;

export interface ProvisionOptions {
  kafka: Kafka;
  topics: Topic[];
  topicPrefix?: string;
  partitions: number;
  replicationFactor: number;
}

/** Makes the topics of the table that are not there yet and sets the policy of those that are. Safe to run again. */
export async function provisionTopics(options: ProvisionOptions): Promise<void> {
  const { kafka, topics, topicPrefix = '', partitions, replicationFactor } = options;
  const admin = kafka.admin();
  await admin.connect();
  try {
    const existing = new Set(await admin.listTopics());
    const missing = topics.filter((topic) => !existing.has(topicPrefix + topic.name));
    const present = topics.filter((topic) => existing.has(topicPrefix + topic.name));
    if (missing.length > 0) {
      await admin.createTopics({
        waitForLeaders: false,
        timeout: LEADERS_MS,
        topics: missing.map((topic) => ({
          topic: topicPrefix + topic.name,
          numPartitions: partitions,
          replicationFactor,
          configEntries: topicConfig(topic, replicationFactor),
        })),
      });
      await untilLed(
        admin,
        missing.map((topic) => topicPrefix + topic.name),
      );
    }
    if (present.length > 0) {
      await admin.alterConfigs({
        validateOnly: false,
        resources: present.map((topic) => ({
          type: ConfigResourceTypes.TOPIC,
          name: topicPrefix + topic.name,
          configEntries: topicConfig(topic, replicationFactor),
        })),
      });
    }
  } finally {
    await admin.disconnect();
  }
}

/**
 * Until every partition has a leader. KafkaJS's own wait gives up on a broker that has not heard of the topic yet.
 */
async function untilLed(admin: ReturnType<Kafka['admin']>, names: string[]): Promise<void> {
  const deadline = performance.now() + LEADERS_MS;
  for (;;) {
    try {
      const { topics } = await admin.fetchTopicMetadata({ topics: names });
      if (topics.every(({ partitions }) => partitions.every(({ leader }) => leader >= 0))) return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    if (performance.now() > deadline) throw new Error('Kafka chose no leaders for the new topics');
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS));
  }
}

/** Kafka's settings for a topic's policy. With three replicas a write is on two before it is acknowledged. */
export function topicConfig(
  { policy, retentionDays, maxRecordBytes }: Topic,
  replicationFactor: number,
): { name: string; value: string }[] {
  const retentionMs = String(retentionDays * DAY_MS);
  const common = [
    ...(replicationFactor >= 3 ? [{ name: 'min.insync.replicas', value: '2' }] : []),
    ...(maxRecordBytes === undefined ? [] : [{ name: 'max.message.bytes', value: String(maxRecordBytes) }]),
  ];
  return policy === 'compact'
    ? [
        ...common,
        { name: 'cleanup.policy', value: 'compact' },
        { name: 'delete.retention.ms', value: retentionMs },
      ]
    : [...common, { name: 'cleanup.policy', value: 'delete' }, { name: 'retention.ms', value: retentionMs }];
}
