import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import { topics, type SubscriptionRecord, type Topic } from '@assistance/types';
import {
  binaryRecord,
  cloudEventOf,
  connectKafka,
  createKeyRing,
  createLogger,
  migrate,
  newId,
  provisionTopics,
  RecordPublisher,
  structuredRecord,
  type OutgoingRecord,
} from '@assistance/service-kit';
import {
  createReceiver,
  createTestDatabase,
  createTestIssuer,
  startServiceProcess,
  testKafka,
  waitUntil,
  type Receiver,
  type ServiceProcess,
  type TestDatabase,
  type TestIssuer,
} from '@assistance/test-kit';
import { generateSecret } from '@assistance/webhook-signature';
import { openDatabase } from '../src/open-database.ts';
import type { PrismaClient } from '../src/generated/prisma/client.ts';

const folder = join(import.meta.dirname, '..');
const log = createLogger({ service: 'test', level: 'silent' });
/** Set, it also shows what dispatchers log. */
const logLevel = process.env['TEST_LOG_LEVEL'];

/** What several dispatchers share: a database, topics, an issuer, and a publisher that plays all other parties. */
export interface Surroundings {
  database: TestDatabase;
  prisma: PrismaClient;
  issuer: TestIssuer;
  publisher: RecordPublisher;
  environment: Record<string, string>;
  /** Tells the dispatcher of a subscription as the subscriptions service does. */
  subscribe(fields: Partial<SubscriptionRecord> & { callbackUrl: string }): Promise<Subscribed>;
  /** Publishes events of one type and answers their ids. */
  publishEvents(count: number, options?: { subject?: string; time?: Date }): Promise<string[]>;
  /** What the dispatcher told the subscriptions service, oldest first. */
  reports(): Promise<{ type: string; data: Record<string, unknown> }[]>;
  /** What the dispatcher could not take, with the reason that it gave. */
  deadLetters(): Promise<{ value: Buffer | null; error: string }[]>;
  /** A subscriber's endpoint, until all is closed. */
  receive(): Promise<Receiver>;
  /** Is ended before all else when it is closed. */
  running: Set<Dispatcher>;
  close(): Promise<void>;
}

export interface Subscribed {
  record: SubscriptionRecord;
  secret: string;
  /** Publishes the next version of the record. */
  change(fields: Partial<SubscriptionRecord>): Promise<void>;
  /** A new secret; those before it expire so much later. */
  rotateSecret(overlapMs: number): Promise<{ secret: string; expiresAt: Date }>;
}

/** Surroundings and one dispatcher in them, for all tests of a file. */
export async function runDispatcher(
  environment: Record<string, string> | ((surroundings: Surroundings) => Record<string, string>) = {},
): Promise<{ surroundings: Surroundings; dispatcher: Dispatcher }> {
  const surroundings = await createSurroundings();
  afterAll(() => surroundings.close(), 30_000);
  try {
    const own = typeof environment === 'function' ? environment(surroundings) : environment;
    return { surroundings, dispatcher: await startDispatcher(surroundings, own) };
  } catch (error) {
    await surroundings.close();
    throw error;
  }
}

export async function createSurroundings(): Promise<Surroundings> {
  const { brokers, topicPrefix } = testKafka();
  const database = await createTestDatabase({
    template: 'webhook-dispatcher',
    migrate: (url) => migrate(url, join(folder, 'prisma', 'migrations')),
  });
  const issuer = await createTestIssuer();
  const kafka = connectKafka({ brokers, clientId: 'test', log });
  await provisionTopics({
    kafka,
    topics: Object.values<Topic>(topics),
    topicPrefix,
    partitions: 3,
    replicationFactor: 1,
  });
  const publisher = new RecordPublisher({ kafka, topicPrefix, log });
  publisher.start();
  await waitUntil(() => publisher.isReady());
  const prisma = openDatabase({ url: database.url, poolSize: 2 });
  const keyRingConfig = { current: 'k1', keys: { k1: randomBytes(32).toString('base64') } };
  const keyRing = createKeyRing(keyRingConfig);
  const running = new Set<Dispatcher>();
  const receivers: Receiver[] = [];

  const publishRecord = (record: SubscriptionRecord): Promise<void> =>
    publisher.publish([
      binaryRecord(topics.subscription.name, {
        id: newId('evt'),
        source: '/subscriptions',
        type: 'subscription.recorded',
        subject: record.subscriptionId,
        time: new Date(),
        data: record,
      }),
    ]);

  return {
    database,
    prisma,
    issuer,
    publisher,
    environment: {
      DATABASE_URL: database.url,
      KAFKA_BROKERS: brokers.join(','),
      KAFKA_TOPIC_PREFIX: topicPrefix,
      TOKEN_AUDIENCE: issuer.audience,
      TOKEN_ISSUERS: JSON.stringify([{ issuer: issuer.issuer, jwksUri: issuer.jwksUri }]),
      KEY_RING: JSON.stringify(keyRingConfig),
      CURSOR_KEY: randomBytes(32).toString('base64'),
      CALLBACK_RULES: 'sandbox',
      LOG_LEVEL: logLevel ?? 'warn',
    },
    async subscribe(fields) {
      const secret = generateSecret();
      const subscriptionId = newId('sub');
      // Spans begin 5 s before a subscription's creation; made in the future, it takes only what comes from now on.
      const createdAt = new Date(Date.now() + 5_000).toISOString();
      const seal = (of: string) => keyRing.seal(Buffer.from(of), subscriptionId);
      let record: SubscriptionRecord = {
        subscriptionId,
        owner: `${issuer.issuer}#subscriber`,
        version: 1,
        status: 'active',
        statusEpoch: 1,
        eventTypes: [{ type: 'document.available', addedAt: createdAt }],
        ordering: 'none',
        secrets: [{ sealed: seal(secret), createdAt, expiresAt: null }],
        createdAt,
        ...fields,
      };
      await publishRecord(record);
      const change: Subscribed['change'] = async (changed) => {
        record = { ...record, ...changed, version: record.version + 1 };
        await publishRecord(record);
      };
      return {
        secret,
        get record() {
          return record;
        },
        change,
        async rotateSecret(overlapMs) {
          const [now, expiresAt] = [new Date(), new Date(Date.now() + overlapMs)];
          const fresh = generateSecret();
          await change({
            secrets: [
              { sealed: seal(fresh), createdAt: now.toISOString(), expiresAt: null },
              ...record.secrets
                .filter((kept) => kept.expiresAt === null || kept.expiresAt > now.toISOString())
                .map((kept) => ({ ...kept, expiresAt: kept.expiresAt ?? expiresAt.toISOString() })),
            ],
          });
          return { secret: fresh, expiresAt };
        },
      };
    },
    async publishEvents(count, { subject, time = new Date() } = {}) {
      const ids: string[] = [];
      const records: OutgoingRecord[] = Array.from({ length: count }, () => {
        const id = newId('evt');
        ids.push(id);
        const documentId = subject ?? newId('doc');
        return structuredRecord(
          topics.documentAvailable.name,
          cloudEventOf({
            id,
            source: '/documents',
            type: 'document.available',
            subject: documentId,
            time,
            data: { documentId, availableAt: time.toISOString() },
          }),
        );
      });
      await publisher.publish(records);
      return ids;
    },
    async reports() {
      const messages = await readAll(kafka, topicPrefix + topics.report.name);
      return messages.map(
        ({ value }) => JSON.parse(String(value)) as { type: string; data: Record<string, unknown> },
      );
    },
    async deadLetters() {
      const messages = await readAll(kafka, topicPrefix + topics.dispatcherDeadLetters.name);
      return messages.map(({ value, headers }) => ({ value, error: String(headers?.['dlq-error']) }));
    },
    async receive() {
      const receiver = await createReceiver();
      receivers.push(receiver);
      return receiver;
    },
    running,
    async close() {
      await Promise.all([...running].map((dispatcher) => dispatcher.stop()));
      await Promise.all(receivers.map((receiver) => receiver.close()));
      await publisher.stop();
      await prisma.$disconnect();
      await issuer.close();
      await database.drop();
    },
  };
}

async function readAll(
  kafka: ReturnType<typeof connectKafka>,
  topic: string,
): Promise<{ value: Buffer | null; headers?: Record<string, unknown> }[]> {
  const admin = kafka.admin();
  await admin.connect();
  const offsets = await admin.fetchTopicOffsets(topic);
  await admin.disconnect();
  const expected = offsets.reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0);
  const read: { value: Buffer | null; headers?: Record<string, unknown> }[] = [];
  if (expected === 0) return read;
  const consumer = kafka.consumer({
    groupId: `${topic}.${randomBytes(4).toString('hex')}`,
    maxWaitTimeInMs: 100,
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await new Promise<void>((resolve) => {
    void consumer.run({
      eachMessage: ({ message }) => {
        read.push(message);
        if (read.length >= expected) resolve();
        return Promise.resolve();
      },
    });
  });
  await consumer.disconnect();
  return read;
}

export interface Dispatcher {
  /** The delivery log. */
  url: string;
  process: ServiceProcess;
  /** SIGTERM; resolves when it has ended. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
}

/** Runs the dispatcher as it is run in production, in a process of its own, and waits until it is ready. */
export async function startDispatcher(
  surroundings: Surroundings,
  environment: Record<string, string> = {},
): Promise<Dispatcher> {
  const service = await startServiceProcess({
    folder,
    environment: { ...surroundings.environment, ...environment },
    echo: logLevel !== undefined,
  });
  const end = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    surroundings.running.delete(dispatcher);
    await service.end(signal);
  };
  const dispatcher: Dispatcher = {
    url: `${service.url}/deliveries/v1`,
    process: service,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
  surroundings.running.add(dispatcher);
  await service.untilReady();
  return dispatcher;
}
