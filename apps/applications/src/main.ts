import { fileURLToPath } from 'node:url';
import { topics } from '@assistance/types';
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
  PollLoop,
  readConfig,
  Readiness,
  RecordConsumer,
  RecordPublisher,
  runService,
} from '@assistance/service-kit';
import { createApp } from './app.ts';
import { createAuditMetrics } from './audit/audit-metrics.ts';
import { AuditSealer } from './audit/audit-sealer.ts';
import { takeCaseMessages } from './cases/take-case-message.ts';
import { config } from './config.ts';
import { createDecidingMetrics } from './deciding/deciding-metrics.ts';
import { decideDue } from './deciding/decide-due.ts';
import { watchOpen } from './deciding/watch-open.ts';
import { openDatabase, openHotPath } from './open-database.ts';
import { loadProgramsOrExit } from './programs/load-programs.ts';
import { createProgramPublication } from './programs/publish-programs.ts';
import { createPublishedPrograms } from './programs/published-programs.ts';
import { createTakeTurns } from './submission/take-turns.ts';

const service = 'applications';
const settings = readConfig(config, process.env);
const programs = await loadProgramsOrExit(
  fileURLToPath(new URL('../programs', import.meta.url)),
  settings.PROGRAM_SETS,
);
const log = createLogger({ service, level: settings.LOG_LEVEL });
const metrics = createMetrics(service);
const decidingMetrics = createDecidingMetrics(metrics.registry);

const databaseOptions = { url: settings.DATABASE_URL, poolSize: settings.DATABASE_POOL_SIZE };
const prisma = openDatabase(databaseOptions);
const hotPath = openHotPath(databaseOptions);
const database = createDatabaseCheck({ sql: prisma, log });
const publication = createProgramPublication({ sql: prisma, files: programs.files, log });
const published = createPublishedPrograms({ catalogue: programs, sql: prisma });
const keyRing = createKeyRing(settings.KEY_RING);

const kafka = connectKafka({ brokers: settings.KAFKA_BROKERS, clientId: service, log });
const topicPrefix = settings.KAFKA_TOPIC_PREFIX;
const publisher = new RecordPublisher({ kafka, topicPrefix, log });
const relay = new OutboxRelay({ sql: hotPath, publisher, metrics, log });

const deciding = new PollLoop({
  name: 'deciding',
  intervalMs: 500,
  restMs: 10,
  log,
  turn: () =>
    decideDue({
      sql: hotPath,
      published,
      keyRing,
      metrics: decidingMetrics,
      log,
      onDecided: () => relay.wake(),
    }),
});
const watch = new PollLoop({
  name: 'watch-open',
  intervalMs: 15_000,
  log,
  turn: () => watchOpen({ sql: prisma, metrics: decidingMetrics, log }),
});
const cases = new RecordConsumer({
  kafka,
  groupId: service,
  topicPrefix,
  topics: [topics.cases.name],
  deadLetterTopic: topics.applicationsDeadLetters.name,
  publisher,
  handle: takeCaseMessages({
    sql: prisma,
    metrics: decidingMetrics,
    log,
    onChanged: () => {
      deciding.wake();
      relay.wake();
    },
  }),
  metrics,
  log,
});

const sealer = new AuditSealer({ sql: prisma, metrics: createAuditMetrics(metrics.registry), log });

const verifier = createTokenVerifier({ issuers: settings.TOKEN_ISSUERS, audience: settings.TOKEN_AUDIENCE });
const issuer = createIssuerCheck({ verifier, log });
const app = createApp({
  prisma,
  sql: hotPath,
  programs,
  published,
  keyRing,
  fingerprintKeys: settings.IDEMPOTENCY_KEY,
  takeTurns: createTakeTurns({ timeoutMs: 5_000 }),
  cursors: createCursorCodec(settings.CURSOR_KEY),
  visibility: {
    partners: new Set(settings.PARTNER_CLIENTS),
    operators: new Set(settings.OPERATOR_CLIENTS),
  },
  verifier,
  rateLimitPerSecond: settings.RATE_LIMIT_PER_SECOND,
  applicantRefPattern: settings.APPLICANT_REF_PATTERN,
  onSubmitted: () => deciding.wake(),
  onWithdrawn: () => relay.wake(),
  metrics,
  log,
});
const readiness = new Readiness([database, issuer, publication, publisher, cases]);

await runService({
  log,
  readiness,
  parts: [
    createOpsServer({ port: settings.OPS_PORT, readiness, metrics }),
    { name: 'prisma', start: () => undefined, stop: () => prisma.$disconnect() },
    { name: 'hot-path', start: () => undefined, stop: () => hotPath.close() },
    database,
    issuer,
    publication,
    publisher,
    relay,
    sealer,
    cases,
    { name: 'watch-open', start: () => watch.start(), stop: () => watch.stop() },
    { name: 'deciding', start: () => deciding.start(), stop: () => deciding.stop() },
    createHttpPart(createHttpServer(app), settings.HTTP_PORT),
  ],
});
