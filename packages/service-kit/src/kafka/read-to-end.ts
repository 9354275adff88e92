import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import { receivedRecord, type ReceivedRecord } from './record-consumer.ts';

const SILENCE_MS = 30_000;
const SESSION_MS = 30_000;

export interface ReadToEndOptions {
  kafka: Kafka;
  topicPrefix: string;
  topic: string;
  /** The beginning of the name of the group, which is this reading's own. */
  groupId: string;
  /** Takes records of one partition, in order. What it throws ends the reading. */
  handle: (records: ReceivedRecord[]) => Promise<void>;
}

/**
 * Reads a topic from its beginning to where it ended when this began, for commands of operators: in a group of its own
 * that commits nothing and is gone afterwards. Fails when nothing comes for 30 s.
 */
export async function readToEnd({
  kafka,
  topicPrefix,
  topic,
  groupId,
  handle,
}: ReadToEndOptions): Promise<void> {
  const name = topicPrefix + topic;
  const group = `${topicPrefix}${groupId}-${randomUUID()}`;
  const admin = kafka.admin();
  const consumer = kafka.consumer({ groupId: group, sessionTimeout: SESSION_MS, maxWaitTimeInMs: 500 });
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  const silence = setTimeout(
    () => reject(new Error(`Kafka brought nothing more of ${name} for 30 s.`)),
    SILENCE_MS,
  );
  consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
  const begin = async (): Promise<void> => {
    await admin.connect();
    const offsets = await admin.fetchTopicOffsets(name);
    const open = new Map(
      offsets
        .filter(({ low, high }) => Number(high) > Number(low))
        .map(({ partition, high }) => [partition, Number(high)]),
    );
    if (open.size === 0) return resolve();
    await consumer.connect();
    await consumer.subscribe({ topics: [name], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        const { partition, messages } = batch;
        const end = open.get(partition) ?? 0;
        const records = messages.map((message) => receivedRecord(message, topic, partition));
        try {
          await handle(records.filter(({ offset }) => Number(offset) < end));
        } catch (error) {
          return reject(error);
        }
        silence.refresh();
        if (Number(batch.lastOffset()) + 1 >= end) open.delete(partition);
        if (open.size === 0) resolve();
      },
    });
  };
  try {
    begin().catch(reject);
    await ended;
  } finally {
    clearTimeout(silence);
    await consumer.disconnect().catch(() => undefined);
    await admin.deleteGroups([group]).catch(() => undefined);
    await admin.disconnect().catch(() => undefined);
  }
}
