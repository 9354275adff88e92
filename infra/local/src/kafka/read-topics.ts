import { randomUUID } from 'node:crypto';
import { Kafka, logLevel, type Admin, type KafkaMessage } from 'kafkajs';

const readWithinMs = 60_000;

const connect = (brokers: string[]): Kafka =>
  new Kafka({ clientId: 'read-topics', brokers, logLevel: logLevel.NOTHING });

/** Hands over every record that lies in the topics now, those of a partition from the oldest on. */
export async function readTopics(
  brokers: string[],
  topics: string[],
  take: (message: KafkaMessage, topic: string) => void,
): Promise<void> {
  const open = new Map<string, number>();
  for (const topic of topics) {
    for (const { partition, high, low } of await offsetsOf(brokers, topic)) {
      if (high > low) open.set(`${topic} ${partition}`, high);
    }
  }
  if (open.size === 0) return;
  const consumer = connect(brokers).consumer({ groupId: `read-topics-${randomUUID()}` });
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  const overdue = setTimeout(() => reject(new Error('Kafka could not be read in time')), readWithinMs);
  try {
    await consumer.connect();
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        const { topic, partition, messages } = batch;
        for (const message of messages) take(message, topic);
        const place = `${topic} ${partition}`;
        if (Number(batch.lastOffset()) + 1 >= (open.get(place) ?? Infinity)) open.delete(place);
        if (open.size === 0) resolve();
      },
    });
    await done;
  } finally {
    clearTimeout(overdue);
    await consumer.disconnect().catch(() => {});
  }
}

/** Of each partition: where the oldest record lies, and where the next one will. */
export const offsetsOf = (brokers: string[], topic: string) =>
  withAdmin(brokers, async (admin) =>
    (await admin.fetchTopicOffsets(topic)).map(({ partition, high, low }) => ({
      partition,
      high: Number(high),
      low: Number(low),
    })),
  );

/** The names of the topics of the platform, those of the sandbox included. */
export const platformTopics = (brokers: string[], prefix = ''): Promise<string[]> =>
  withAdmin(brokers, async (admin) =>
    (await admin.listTopics()).filter((name) => name.startsWith(`${prefix}assistance.`)),
  );

async function withAdmin<T>(brokers: string[], work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = connect(brokers).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
