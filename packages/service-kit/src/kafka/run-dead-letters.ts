import { topics, type Topic } from '@assistance/types';
import { readConfig, serviceConfig } from '../runtime/config.ts';
import { createLogger } from '../runtime/logger.ts';
import { runCommand } from '../runtime/run-command.ts';
import { connectKafka } from './connect-kafka.ts';
import { listDeadLetters, replayDeadLetters, type DeadLetter } from './dead-letters.ts';
import { RecordPublisher } from './record-publisher.ts';

const usage = `Usage: dead-letters list
       dead-letters replay all
       dead-letters replay <partition>:<offset> …   as the list names them`;
const CONNECT_RETRIES = 10;
const CONNECT_MS = 15_000;

/** What a service's `dead-letters.ts` runs: lists and replays the records that the service could not take. */
export async function runDeadLetters({
  deadLetters,
  args: [action, ...places],
  env,
}: {
  /** The service's dead-letter topic. */
  deadLetters: Topic;
  args: string[];
  env: NodeJS.ProcessEnv;
}): Promise<void> {
  const { KAFKA_BROKERS, KAFKA_TOPIC_PREFIX: topicPrefix } = readConfig(
    serviceConfig.pick({ KAFKA_BROKERS: true, KAFKA_TOPIC_PREFIX: true }),
    env,
  );
  const log = createLogger({ service: deadLetters.producer, level: 'silent' });
  const clientId = `${deadLetters.producer}-dead-letters`;
  const kafka = connectKafka({ brokers: KAFKA_BROKERS, clientId, log, retries: CONNECT_RETRIES });
  const from = { kafka, topicPrefix, deadLetterTopic: deadLetters.name, groupId: clientId };

  await runCommand(async () => {
    if (action === 'list' && places.length === 0) return list();
    if (action === 'replay' && places.length > 0) return replay(chosenOf(places));
    throw new Error(usage);
  });

  async function list(): Promise<boolean> {
    let count = 0;
    let replayed = 0;
    await listDeadLetters(from, (letter) => {
      count += 1;
      if (letter.replayedAt !== null) replayed += 1;
      say(inWords(letter));
    });
    say(`${count} dead letters, ${replayed} of them put back.`);
    return true;
  }

  async function replay(chosen: Set<string> | 'all'): Promise<boolean> {
    const sources = Object.values<Topic>(topics)
      .filter(({ consumers }) => consumers.includes(deadLetters.producer))
      .map(({ name }) => name)
      .filter((name) => name !== deadLetters.name);
    const publisher = new RecordPublisher({ kafka, topicPrefix, log });
    publisher.start();
    try {
      await untilReady(publisher);
      const done = new Set(await replayDeadLetters({ ...from, publisher, sources, places: chosen }));
      say(`${done.size} dead letters put back.`);
      const missing = chosen === 'all' ? [] : [...chosen].filter((place) => !done.has(place));
      for (const place of missing) say(`There is no dead letter ${place} that this service could put back.`);
      return missing.length === 0;
    } finally {
      await publisher.stop();
    }
  }
}

function chosenOf(places: string[]): Set<string> | 'all' {
  if (places.length === 1 && places[0] === 'all') return 'all';
  if (places.every((place) => /^\d{1,6}:\d{1,19}$/.test(place))) return new Set(places);
  throw new Error(usage);
}

async function untilReady(publisher: RecordPublisher): Promise<void> {
  const deadline = performance.now() + CONNECT_MS;
  while (!publisher.isReady()) {
    if (performance.now() > deadline) throw new Error('Kafka did not answer within 15 s.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const inWords = ({ place, topic, partition, offset, code, error, at, replayedAt }: DeadLetter): string =>
  [
    ...[place.padEnd(10), at, `${topic} ${partition}:${offset}`, code, error],
    ...(replayedAt === null ? [] : [`put back ${replayedAt}`]),
  ].join('  ');

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
