import { claimDue } from '../../src/deciding/claim-due.ts';
import { connectKafka, createLogger, RecordConsumer, RecordPublisher } from '@assistance/service-kit';
import { createMetrics, provisionTopics, type ReceivedRecord } from '@assistance/service-kit';
import { createTcpProxy, holdStatements, testKafka, waitUntil, type HoldOptions } from '@assistance/test-kit';
import { topics } from '@assistance/types';
import type { Got } from 'got';
import { clientOf, startService, type Instance } from '../support/start-service.ts';

/** Where a process dies, and whether Postgres has the statement done by then. */
export interface Crash {
  table: string;
  on: HoldOptions['on'];
  committed: boolean;
}

export interface World {
  /** Not the way that a crash cuts. */
  prisma: Instance['prisma'];
  /** A caller with an owner of its own, which sees only what it submitted. */
  newClient(): { client: () => Got; owner: string };
  decideOnce(): Promise<boolean>;
  /** Takes up what is due, and dies before it is decided. */
  claim(): Promise<void>;
  /** Puts messages on the topic of case management; resolves when the service has taken each of them. */
  send(records: ReceivedRecord[]): Promise<void>;
  /**
   * Does something that comes to a point at which its process dies: its way to the database is cut, its loops are stopped,
   * and another takes its place. False when it ended without coming there.
   */
  crash(at: Crash, work: () => Promise<unknown>): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * The real service over a real database and, for what case management says, a real topic and the service's own consumer.
 * The deciding loop is turned by hand, so that a history says what happens before what.
 */
export async function openWorld(): Promise<World> {
  const partners = new Set<string>();
  const service = await startService({
    decide: false,
    overrides: () => ({ visibility: { partners, operators: new Set() } }),
  });
  const { prisma, databaseUrl } = service;
  const url = new URL(databaseUrl);
  const way = await createTcpProxy({ to: url.host });
  url.host = way.address;
  const startInstance = () => service.startInstance({ programs: service.deps.programs }, url.toString());
  let instance = await startInstance();

  const { brokers, topicPrefix } = testKafka();
  const log = createLogger({ service: 'model', level: 'silent' });
  const kafka = connectKafka({ brokers, clientId: 'model', log });
  const publisher = new RecordPublisher({ kafka, topicPrefix, log });
  const taken: string[] = [];
  let crashed: Promise<void> | undefined;
  const consumer = new RecordConsumer({
    ...{ kafka, topicPrefix, publisher, log, metrics: createMetrics('model') },
    groupId: 'applications',
    topics: [topics.cases.name],
    deadLetterTopic: topics.applicationsDeadLetters.name,
    handle: async (records) => {
      await crashed;
      await instance.takeCaseMessages(records);
      taken.push(...records.map(idOf));
    },
  });
  await provisionTopics({
    ...{ kafka, topicPrefix, partitions: 1, replicationFactor: 1 },
    topics: [topics.cases, topics.applicationsDeadLetters],
  });
  publisher.start();
  consumer.start();
  await waitUntil(() => publisher.isReady() && consumer.isReady(), { timeoutMs: 30_000 });

  let clients = 0;
  return {
    prisma,
    newClient: () => {
      const clientId = `client-${++clients}`;
      const owner = service.ownerOf(clientId);
      partners.add(owner);
      const authorized = clientOf(service, { clientId });
      return { client: () => authorized.extend({ prefixUrl: instance.baseUrl }), owner };
    },
    decideOnce: () => instance.decideOnce(),
    claim: async () => {
      await claimDue(instance.prisma, 1_000);
    },
    send: async (records) => {
      taken.length = 0;
      await publisher.publish(records.map((record) => ({ ...record, key: record.key ?? '' })));
      const sent = records.map(idOf);
      await waitUntil(() => sent.every((id) => taken.includes(id)), { timeoutMs: 30_000, intervalMs: 1 });
    },
    crash: async ({ committed, ...where }, work) => {
      const hold = await holdStatements({ databaseUrl, ...where });
      let ended = false;
      const working = work()
        .catch(() => undefined)
        .finally(() => (ended = true));
      await waitUntil(async () => ended || (await hold.isReached()), { timeoutMs: 30_000, intervalMs: 2 });
      if (ended) {
        await hold.release();
        return false;
      }
      let restarted = (): void => undefined;
      crashed = new Promise((resolve) => (restarted = resolve));
      await way.cut();
      if (!committed) await hold.abandon();
      await hold.release();
      await instance.stop();
      await way.restore();
      instance = await startInstance();
      crashed = undefined;
      restarted();
      await working;
      return true;
    },
    close: async () => {
      await consumer.stop();
      await publisher.stop();
      await service.stop();
      await way.close();
    },
  };
}

const idOf = ({ value }: ReceivedRecord): string => JSON.parse(String(value)).id;
