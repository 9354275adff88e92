import { createHash, randomUUID } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';
import { z } from 'zod';

const topicsOfServices = [
  'assistance.events.application-decided.v1',
  'assistance.events.case-status-changed.v1',
];
const deadLetterTopics = ['applications', 'subscriptions', 'webhook-dispatcher'].map(
  (service) => `assistance.${service}.dlq`,
);
const readWithinMs = 60_000;
const event = z.object({ id: z.string() });

const connect = (brokers: string[]): Kafka =>
  new Kafka({ clientId: 'chaos-proof', brokers, logLevel: logLevel.NOTHING });

/** The bytes of the events that services published, as digests by id: more than one if an id was used for two. */
export async function readRecords(brokers: string[], topicPrefix: string): Promise<Map<string, Set<string>>> {
  const kafka = connect(brokers);
  const digests = new Map<string, Set<string>>();
  const open = new Map<string, number>();
  for (const topic of topicsOfServices.map((name) => topicPrefix + name)) {
    for (const { partition, high } of await offsetsOf(kafka, topic)) {
      if (high > 0) open.set(`${topic} ${partition}`, high);
    }
  }
  const consumer = kafka.consumer({ groupId: `${topicPrefix}chaos-proof-${randomUUID()}` });
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  const overdue = setTimeout(() => reject(new Error('Kafka could not be read in time')), readWithinMs);
  try {
    await consumer.connect();
    await consumer.subscribe({
      topics: topicsOfServices.map((name) => topicPrefix + name),
      fromBeginning: true,
    });
    if (open.size === 0) resolve();
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ topic, partition, message }) => {
        const { id } = event.parse(JSON.parse(String(message.value)));
        const digest = createHash('sha256').update(message.value!).digest('hex');
        digests.set(id, (digests.get(id) ?? new Set()).add(digest));
        const place = `${topic} ${partition}`;
        if (Number(message.offset) + 1 >= (open.get(place) ?? Infinity)) open.delete(place);
        if (open.size === 0) resolve();
      },
    });
    await done;
    return digests;
  } finally {
    clearTimeout(overdue);
    await consumer.disconnect().catch(() => {});
  }
}

/** How many records lie in the dead-letter topics. */
export async function countDeadLetters(brokers: string[], topicPrefix: string): Promise<number> {
  let count = 0;
  for (const topic of deadLetterTopics) {
    for (const { high, low } of await offsetsOf(connect(brokers), topicPrefix + topic)) count += high - low;
  }
  return count;
}

async function offsetsOf(kafka: Kafka, topic: string) {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const offsets = await admin.fetchTopicOffsets(topic);
    return offsets.map(({ partition, high, low }) => ({ partition, high: Number(high), low: Number(low) }));
  } finally {
    await admin.disconnect();
  }
}
