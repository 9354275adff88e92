import {
  connectKafka,
  createCursorCodec,
  createDatabaseCheck,
  createHttpPart,
  createHttpServer,
  createIssuerCheck,
  createKeyRing,
  createLogger,
  createMetrics,
  createOpsServer,
  createTokenVerifier,
  OutboxRelay,
  readConfig,
  Readiness,
  RecordConsumer,
  RecordPublisher,
  runService,
} from '@assistance/service-kit';
import { topics } from '@assistance/types';
import { createApp } from './app.ts';
import { config } from './config.ts';
import { openDatabase } from './open-database.ts';
import { takeReports } from './take-reports.ts';
import { createUpkeep } from './upkeep/create-upkeep.ts';

const env = readConfig(config, process.env);
const log = createLogger({ service: 'subscriptions', level: env.LOG_LEVEL });
const metrics = createMetrics('subscriptions');
const keyRing = createKeyRing(env.KEY_RING);

const prisma = openDatabase({ url: env.DATABASE_URL, poolSize: env.DATABASE_POOL_SIZE });
const database = createDatabaseCheck({ sql: prisma, log });
const kafka = connectKafka({ brokers: env.KAFKA_BROKERS, clientId: 'subscriptions', log });
const publisher = new RecordPublisher({ kafka, topicPrefix: env.KAFKA_TOPIC_PREFIX, log });
const relay = new OutboxRelay({ sql: prisma, publisher, metrics, log });
const wakeRelay = (): void => relay.wake();
const reports = new RecordConsumer({
  kafka,
  groupId: 'subscriptions',
  topicPrefix: env.KAFKA_TOPIC_PREFIX,
  topics: [topics.report.name],
  deadLetterTopic: topics.subscriptionsDeadLetters.name,
  publisher,
  handle: (records) => takeReports(records, { prisma }),
  metrics,
  log,
});
const upkeep = createUpkeep({ prisma, keyRing, wakeRelay, log });

const verifier = createTokenVerifier({ issuers: env.TOKEN_ISSUERS, audience: env.TOKEN_AUDIENCE });
const issuer = createIssuerCheck({ verifier, log });
const app = createApp({
  prisma,
  wakeRelay,
  keyRing,
  cursors: createCursorCodec(env.CURSOR_KEY),
  settings: {
    callbackRules: { rules: env.CALLBACK_RULES, allowedNetworks: env.CALLBACK_ALLOWED_NETWORKS },
    maxSubscriptionsPerClient: env.MAX_SUBSCRIPTIONS_PER_CLIENT,
    secretOverlapMs: env.SECRET_OVERLAP_MS,
    rateLimitPerSecond: env.RATE_LIMIT_PER_SECOND,
  },
  verifier,
  metrics,
  log,
});
const http = createHttpPart(createHttpServer(app), env.HTTP_PORT);
const readiness = new Readiness([database, issuer, publisher, reports]);
const ops = createOpsServer({ port: env.OPS_PORT, readiness, metrics });

await runService({ log, readiness, parts: [ops, database, issuer, publisher, relay, reports, upkeep, http] });
