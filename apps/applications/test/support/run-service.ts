import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { topics } from '@assistance/types';
import { connectKafka, createLogger, migrate, provisionTopics } from '@assistance/service-kit';
import {
  createTestDatabase,
  createTestIssuer,
  createWays,
  startServiceProcess,
  testKafka,
  type ServiceProcess,
  type TestDatabase,
  type TestIssuer,
  type Ways,
} from '@assistance/test-kit';

const folder = fileURLToPath(new URL('../..', import.meta.url));
const key = (): string => randomBytes(32).toString('base64');

/** What instances of the service share, and processes of it behind ways that a test can cut. */
export interface Surroundings {
  database: TestDatabase;
  issuer: TestIssuer;
  /** The test's own way, never cut. */
  kafka: ReturnType<typeof connectKafka>;
  topicPrefix: string;
  /** The ways of one process, or of one after another. */
  createWays(away?: Parameters<typeof createWays>[0]['away']): Promise<Ways>;
  start(ways: Ways): Promise<ServiceProcess>;
  close(): Promise<void>;
}

export async function createSurroundings(): Promise<Surroundings> {
  const { brokers, topicPrefix } = testKafka();
  const log = createLogger({ service: 'test', level: 'silent' });
  const kafka = connectKafka({ brokers, clientId: 'test', log });
  const [database, issuer] = await Promise.all([
    createTestDatabase({
      template: 'applications',
      migrate: (url) => migrate(url, `${folder}/prisma/migrations`),
    }),
    createTestIssuer(),
    provisionTopics({
      ...{ kafka, topicPrefix, partitions: 1, replicationFactor: 1 },
      topics: [topics.intake, topics.cases, topics.applicationDecided, topics.applicationsDeadLetters],
    }),
  ]);
  const ofAllInstances = {
    KAFKA_TOPIC_PREFIX: topicPrefix,
    KEY_RING: JSON.stringify({ current: 'k1', keys: { k1: key() } }),
    CURSOR_KEY: key(),
    IDEMPOTENCY_KEY: JSON.stringify({ id: 'i1', key: key() }),
    PROGRAM_SETS: 'agency,sandbox',
  };
  const allWays: Ways[] = [];
  const processes: ServiceProcess[] = [];
  return {
    database,
    issuer,
    kafka,
    topicPrefix,
    createWays: async (away) => {
      const ways = await createWays({ databaseUrl: database.url, brokers, issuer, ...(away && { away }) });
      allWays.push(ways);
      return ways;
    },
    start: async (ways) => {
      const environment = { ...ofAllInstances, ...ways.environment };
      const service = await startServiceProcess({ folder, environment });
      processes.push(service);
      return service;
    },
    close: async () => {
      await Promise.all(processes.map((service) => service.end('SIGKILL')));
      await Promise.all(allWays.map((ways) => ways.close()));
      await issuer.close();
      await database.drop();
    },
  };
}
