// A service in a process of its own, for run-service.test.ts: what it is made of is named by the arguments.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createLogger,
  OutboxRelay,
  createMetrics,
  Readiness,
  RecordConsumer,
  RecordPublisher,
  runService,
  type Part,
} from '../../src/index.ts';
import { createWay } from './create-way.ts';

const wanted = process.argv.slice(2);
const say = (what: string): void => void process.send?.(what);
const part = (name: string, more: Partial<Part> = {}): Part => ({
  name,
  start: () => say(`${name} started`),
  stop: () => say(`${name} stopped`),
  ...more,
});
const log = createLogger({ service: 'test', level: 'silent' });
const readiness = new Readiness([]);

const odd: Record<string, () => Part> = {
  slow: () =>
    part('slow', {
      stop: async () => {
        await sleep(300);
        say('slow stopped');
      },
    }),
  hanging: () => part('hanging', { stop: () => new Promise<void>(() => undefined) }),
  'failing-stop': () =>
    part('failing-stop', {
      stop: () => {
        throw new Error('cannot stop');
      },
    }),
  'failing-start': () => part('failing-start', { start: () => Promise.reject(new Error('cannot start')) }),
  throwing: () =>
    part('throwing', {
      start: () =>
        void setTimeout(() => {
          throw new Error('thrown');
        }, 50),
    }),
  rejecting: () =>
    part('rejecting', { start: () => void setTimeout(() => void Promise.reject(new Error('rejected')), 50) }),
};

/** All that talks to Kafka; `cut` comes as a message, or at once for `kafka-away`. */
function kafkaParts(away: boolean): Part[] {
  const topicPrefix = process.env['TOPIC_PREFIX'] ?? '';
  const way = createWay((process.env['TEST_KAFKA_BROKERS'] ?? '').split(','), log);
  if (away) way.cut();
  process.on('message', (message) => message === 'cut' && way.cut());
  const metrics = createMetrics('test');
  const publisher = new RecordPublisher({ kafka: way.kafka, topicPrefix, log });
  const sql = { $queryRawUnsafe: async () => [] as never, $executeRawUnsafe: async () => 0 };
  const consumer = new RecordConsumer({
    ...{ kafka: way.kafka, topicPrefix, topics: ['things'], deadLetterTopic: 'dlq', groupId: 'process' },
    ...{ publisher, metrics, log, handle: async () => undefined },
  });
  const told = setInterval(() => {
    if (away ? way.refused() >= 2 : publisher.isReady() && consumer.isReady()) {
      clearInterval(told);
      say('kafka as wanted');
    }
  }, 20);
  const record = { topic: 'things', key: 'a', value: Buffer.from('1'), headers: {} };
  process.on('message', (message) => {
    if (message === 'publish') void publisher.publish([record]).catch(() => undefined);
  });
  return [publisher, new OutboxRelay({ sql, publisher, metrics, log }), consumer];
}

const parts = wanted.flatMap((name) => {
  if (name === 'kafka' || name === 'kafka-away') return kafkaParts(name === 'kafka-away');
  return [odd[name]?.() ?? part(name)];
});
process.on('message', (message) => message === 'ready?' && say(`missing: ${readiness.missing().join()}`));
await runService({ log, readiness, parts });
say('running');
