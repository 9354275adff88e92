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
  readConfig,
  Readiness,
  RecordConsumer,
  RecordPublisher,
  runService,
  ShardLeases,
} from '@assistance/service-kit';
import { createApp } from './app.ts';
import { config, deliverySettings } from './config.ts';
import { createDispatcherMetrics } from './dispatcher-metrics.ts';
import { LaneDelivery } from './lanes/deliver-lanes.ts';
import { createLaneCommandFollower } from './lanes/follow-lane-commands.ts';
import { createHandOver } from './lanes/hand-over.ts';
import { LaneOwner } from './lanes/lane-owner.ts';
import { createReplayProgress } from './lanes/replay-progress.ts';
import { createDayPartitions } from './log/day-partitions.ts';
import { eventTopics } from './log/read-event.ts';
import { EventIntake } from './log/receive-events.ts';
import { createNotificationWatch } from './log/watch-notifications.ts';
import { followCommands } from './mirror/follow-command.ts';
import { LANE_SHARDS } from './mirror/lane-shards.ts';
import { mirrorSubscriptions } from './mirror/mirror-subscription.ts';
import { openDatabase, openHotPath } from './open-database.ts';
import { createRetention } from './retention/retention.ts';
import { WebhookSender } from './sending/send-webhook.ts';

const LOG_POOL_SIZE = 4;

const env = readConfig(config, process.env);
const log = createLogger({ service: 'webhook-dispatcher', level: env.LOG_LEVEL });
const metrics = createMetrics('webhook-dispatcher');
const dispatcherMetrics = createDispatcherMetrics(metrics);
const prisma = openDatabase({ url: env.DATABASE_URL, poolSize: env.DATABASE_POOL_SIZE });
const hotPath = openHotPath({ url: env.DATABASE_URL, poolSize: env.DATABASE_POOL_SIZE });
const database = createDatabaseCheck({ sql: prisma, log });
const dayPartitions = createDayPartitions({ sql: prisma, log });
const retention = createRetention({
  databaseUrl: env.DATABASE_URL,
  retentionDays: env.RETENTION_DAYS,
  metrics: dispatcherMetrics,
  log,
});

const kafka = connectKafka({ brokers: env.KAFKA_BROKERS, clientId: 'webhook-dispatcher', log });
const publisher = new RecordPublisher({ kafka, topicPrefix: env.KAFKA_TOPIC_PREFIX, log });
const relay = new OutboxRelay({ sql: prisma, publisher, metrics, log });

const sender = new WebhookSender({
  policy: { rules: env.CALLBACK_RULES, allowedNetworks: env.CALLBACK_ALLOWED_NETWORKS },
  timeoutMs: env.DELIVERY_TIMEOUT_MS,
  nameServers: env.DNS_SERVERS,
  proxy: env.OUTGOING_PROXY,
  log,
});
const leases: ShardLeases = new ShardLeases({
  sql: prisma,
  name: 'shard',
  shards: LANE_SHARDS,
  log,
  onAcquired: (lease) => owner.take(lease),
  onReleasing: (lease) => owner.letGo(lease),
});
const delivery: LaneDelivery = new LaneDelivery({
  sql: hotPath,
  leases,
  sender,
  settings: deliverySettings(env),
  metrics: dispatcherMetrics,
  log,
  onReported: () => relay.wake(),
  onLost: (shards) => shards.forEach((shard) => owner.lose(shard)),
});
const keyRing = createKeyRing(env.KEY_RING);
const owner: LaneOwner = new LaneOwner({ sql: prisma, leases, delivery, keyRing, sender, log });
const handOver = createHandOver({ sql: hotPath, owner, log });
const laneCommands = createLaneCommandFollower({ sql: prisma, leases, owner, log });
const replayProgress = createReplayProgress({ sql: prisma, owner, recorder: delivery.recorder, log });
const notifications = createNotificationWatch({
  databaseUrl: env.DATABASE_URL,
  onNotification: (channel) => (channel === 'log' ? handOver.wake() : laneCommands.wake()),
  log,
});

const intake = new EventIntake({ sql: hotPath, onAppended: () => handOver.wake() });
const consumers = { kafka, topicPrefix: env.KAFKA_TOPIC_PREFIX, publisher, metrics, log };
const events = new RecordConsumer({
  ...consumers,
  groupId: 'webhook-dispatcher-events',
  topics: eventTopics,
  deadLetterTopic: topics.dispatcherDeadLetters.name,
  handle: (records) => intake.receive(records),
  concurrency: 12,
});
const mirror = new RecordConsumer({
  ...consumers,
  groupId: 'webhook-dispatcher-subscriptions',
  topics: [topics.subscription.name],
  deadLetterTopic: topics.dispatcherDeadLetters.name,
  handle: (records) => mirrorSubscriptions(prisma, records),
});
const commands = new RecordConsumer({
  ...consumers,
  groupId: 'webhook-dispatcher-commands',
  topics: [topics.command.name],
  deadLetterTopic: topics.dispatcherDeadLetters.name,
  handle: (records) => followCommands(prisma, records),
});

const verifier = createTokenVerifier({ issuers: env.TOKEN_ISSUERS, audience: env.TOKEN_AUDIENCE });
const issuer = createIssuerCheck({ verifier, log });
// Whoever reads the log waits for its own few connections, never takes one from the deliveries.
const app = createApp({
  sql: openDatabase({ url: env.DATABASE_URL, poolSize: LOG_POOL_SIZE }),
  cursors: createCursorCodec(env.CURSOR_KEY),
  operators: new Set(env.OPERATOR_CLIENTS),
  laneConcurrency: env.LANE_CONCURRENCY,
  retentionDays: env.RETENTION_DAYS,
  verifier,
  rateLimitPerSecond: env.RATE_LIMIT_PER_SECOND,
  metrics,
  log,
});
const http = createHttpPart(createHttpServer(app), env.HTTP_PORT);
const readiness = new Readiness([database, issuer, publisher, events, mirror, commands]);
const ops = createOpsServer({ port: env.OPS_PORT, readiness, metrics });

await runService({
  log,
  readiness,
  parts: [
    ops,
    database,
    issuer,
    dayPartitions,
    publisher,
    relay,
    { name: 'webhook-sender', start: () => undefined, stop: () => sender.close() },
    delivery,
    leases,
    handOver,
    laneCommands,
    replayProgress,
    notifications,
    retention,
    mirror,
    commands,
    events,
    http,
  ],
});
