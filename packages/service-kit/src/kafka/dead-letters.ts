import type { Kafka } from 'kafkajs';
import { readToEnd } from './read-to-end.ts';
import type { ReceivedRecord } from './record-consumer.ts';
import type { RecordOfAnyKey, RecordPublisher } from './record-publisher.ts';

/** More than this at once, and it goes to Kafka. */
const PORTION = { records: 100, bytes: 500_000 };

export interface DeadLetterOptions {
  kafka: Kafka;
  topicPrefix: string;
  deadLetterTopic: string;
  /** The beginning of the name of the groups in which it is read. */
  groupId: string;
}

/** What an operator is told of a record that could not be taken: nothing of its content, nor its key. */
export interface DeadLetter {
  /** `<partition>:<offset>` in the dead-letter topic. */
  place: string;
  topic: string;
  partition: string;
  offset: string;
  code: string;
  error: string;
  at: string;
  /** When it was last put back to where it came from; null if it never was. */
  replayedAt: string | null;
}

/** Tells of every dead letter, oldest first in each partition. */
export async function listDeadLetters(
  options: DeadLetterOptions,
  tell: (letter: DeadLetter) => void,
): Promise<void> {
  const replayed = await readReplayed(options);
  await readLetters(options, (record) => Promise.resolve(tell(letterOf(record, replayed))));
}

/**
 * Puts dead letters back to where they came from, with the same key, bytes and headers: those at `places`, or all that were
 * not put back before. A record says in the dead-letter topic that it was done, once the source has acknowledged: dying
 * between puts it back again, which consumers know how to take. Answers the places that were put back.
 */
export async function replayDeadLetters(
  options: DeadLetterOptions & {
    publisher: RecordPublisher;
    /** Where letters may go. */
    sources: readonly string[];
    places: Set<string> | 'all';
  },
): Promise<string[]> {
  const { publisher, sources, places, deadLetterTopic } = options;
  const replayed = await readReplayed(options);
  const done: string[] = [];
  let waiting: ReceivedRecord[] = [];
  const putBack = async (): Promise<void> => {
    await publisher.publish(waiting.map(originalOf));
    await publisher.publish(waiting.map((record) => noteOf(record, deadLetterTopic)));
    done.push(...waiting.map(placeOf));
    waiting = [];
  };
  await readLetters(options, async (record) => {
    const isChosen = places === 'all' ? !replayed.has(placeOf(record)) : places.has(placeOf(record));
    if (!isChosen || !sources.includes(headerOf(record, 'dlq-topic'))) return;
    waiting.push(record);
    const bytes = waiting.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
    if (waiting.length >= PORTION.records || bytes >= PORTION.bytes) await putBack();
  });
  if (waiting.length > 0) await putBack();
  return done;
}

async function readLetters(
  options: DeadLetterOptions,
  take: (record: ReceivedRecord) => Promise<void>,
): Promise<void> {
  await read(options, async (record) => {
    if (record.headers['dlq-replayed'] === undefined) await take(record);
  });
}

/** When each was put back, by place. */
async function readReplayed(options: DeadLetterOptions): Promise<Map<string, string>> {
  const replayed = new Map<string, string>();
  await read(options, ({ headers, timestamp }) => {
    const place = headers['dlq-replayed'];
    if (place !== undefined) replayed.set(place, timestamp.toISOString());
    return Promise.resolve();
  });
  return replayed;
}

async function read(
  { kafka, topicPrefix, deadLetterTopic, groupId }: DeadLetterOptions,
  take: (record: ReceivedRecord) => Promise<void>,
): Promise<void> {
  await readToEnd({
    ...{ kafka, topicPrefix, topic: deadLetterTopic, groupId },
    handle: async (records) => {
      for (const record of records) await take(record);
    },
  });
}

const placeOf = ({ partition, offset }: ReceivedRecord): string => `${partition}:${offset}`;
const headerOf = ({ headers }: ReceivedRecord, name: string): string => headers[name] ?? '';

const letterOf = (record: ReceivedRecord, replayed: Map<string, string>): DeadLetter => ({
  place: placeOf(record),
  topic: headerOf(record, 'dlq-topic'),
  partition: headerOf(record, 'dlq-partition'),
  offset: headerOf(record, 'dlq-offset'),
  code: headerOf(record, 'dlq-code'),
  error: headerOf(record, 'dlq-error'),
  at: headerOf(record, 'dlq-at'),
  replayedAt: replayed.get(placeOf(record)) ?? null,
});

const originalOf = (record: ReceivedRecord): RecordOfAnyKey => ({
  topic: headerOf(record, 'dlq-topic'),
  key: record.key,
  value: record.value,
  headers: Object.fromEntries(Object.entries(record.headers).filter(([name]) => !name.startsWith('dlq-'))),
});

const noteOf = (record: ReceivedRecord, deadLetterTopic: string): RecordOfAnyKey => ({
  topic: deadLetterTopic,
  key: record.key,
  value: null,
  headers: {
    ...Object.fromEntries(Object.entries(record.headers).filter(([name]) => name.startsWith('dlq-'))),
    'dlq-replayed': placeOf(record),
  },
});
