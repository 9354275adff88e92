import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
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
import { topics } from '@assistance/types';
import got from 'got';

const folder = join(import.meta.dirname, '..');
export const migrations = join(folder, 'prisma', 'migrations');

/** What instances of the service share, behind ways that a test can cut. */
export interface Surroundings {
  database: TestDatabase;
  issuer: TestIssuer;
  ways: Ways;
  /** The test's own way, never cut. */
  kafka: ReturnType<typeof connectKafka>;
  topicPrefix: string;
  start(): Promise<ServiceProcess>;
  close(): Promise<void>;
}

export async function createSurroundings(away: Parameters<typeof createWays>[0]['away'] = []) {
  const { brokers, topicPrefix } = testKafka();
  const log = createLogger({ service: 'test', level: 'silent' });
  const kafka = connectKafka({ brokers, clientId: 'test', log });
  const [database, issuer] = await Promise.all([
    createTestDatabase({ template: 'subscriptions', migrate: (url) => migrate(url, migrations) }),
    createTestIssuer(),
    provisionTopics({
      ...{ kafka, topicPrefix, partitions: 1, replicationFactor: 1 },
      topics: [topics.subscription, topics.command, topics.report, topics.subscriptionsDeadLetters],
    }),
  ]);
  const ways = await createWays({ databaseUrl: database.url, brokers, issuer, away });
  const key = randomBytes(32).toString('base64');
  const environment = {
    ...ways.environment,
    KAFKA_TOPIC_PREFIX: topicPrefix,
    KEY_RING: JSON.stringify({ current: 'k1', keys: { k1: key } }),
    CURSOR_KEY: key,
  };
  const running: ServiceProcess[] = [];
  const surroundings: Surroundings = {
    ...{ database, issuer, ways, kafka, topicPrefix },
    start: async () => {
      const service = await startServiceProcess({ folder, environment });
      running.push(service);
      return service;
    },
    close: async () => {
      await Promise.all(running.map((service) => service.end('SIGKILL')));
      await Promise.all([ways.close(), issuer.close()]);
      await database.drop();
    },
  };
  return surroundings;
}

/** A caller of one instance, whose answers of any status are answers. */
export const callerOf = (service: ServiceProcess, { issuer }: Surroundings) =>
  got.extend({
    prefixUrl: `${service.url}/events/v1`,
    headers: { authorization: `Bearer ${issuer.token({ scopes: ['events:manage'] })}` },
    throwHttpErrors: false,
    retry: { limit: 0 },
  });

export async function subscribe(service: ServiceProcess, surroundings: Surroundings) {
  const { statusCode, headers, body } = await callerOf(service, surroundings).post('subscriptions', {
    json: { eventTypes: ['document.available'], callbackUrl: 'https://example.com/hook' },
  });
  return { statusCode, headers, body: JSON.parse(body) as Record<string, unknown> };
}
