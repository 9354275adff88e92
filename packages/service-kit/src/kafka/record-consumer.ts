import { setTimeout as delay } from 'node:timers/promises';
import type { Consumer, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs';
import { isDataFault } from '../database/sql-state.ts';
import { atMost } from '../runtime/at-most.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { Dependency } from '../runtime/readiness.ts';
import type { Part } from '../runtime/run-service.ts';
import type { RecordPublisher } from './record-publisher.ts';

export interface ReceivedRecord {
  /** Without the prefix. */
  topic: string;
  partition: number;
  offset: string;
  key: string | null;
  /** Null is a tombstone. */
  value: Buffer | null;
  headers: Record<string, string>;
  /** When Kafka says that the record was made. */
  timestamp: Date;
}

/** Thrown by a handler for a record that it can never take: it goes to the dead-letter topic. */
export class UnacceptableRecord extends Error {
  constructor(why: string, options?: ErrorOptions) {
    super(why, options);
    this.name = 'UnacceptableRecord';
  }
}

export interface RecordConsumerOptions {
  kafka: Kafka;
  groupId: string;
  topicPrefix: string;
  topics: string[];
  /** Where records go that cannot be handled. */
  deadLetterTopic: string;
  publisher: RecordPublisher;
  /**
   * Takes records of one partition, in order, at most `chunkSize`; resolves when they are durably taken. Must be
   * idempotent: after a crash, a rebalance or a failure they come again.
   */
  handle: (records: ReceivedRecord[]) => Promise<void>;
  chunkSize?: number;
  /** How many partitions are handled at the same time. */
  concurrency?: number;
  /** After how long without a sign of life from Kafka a consumer is replaced. */
  silentMs?: number;
  metrics: Metrics;
  log: Logger;
}

const RETRY_MS = { first: 100, most: 3_000 };
const REBUILD_MS = 1_000;
/** As long as the group waits for a member that is silent. */
const SESSION_MS = 10_000;
/** Longer than a database's statement hangs. A consumer that KafkaJS lets hang says nothing and ends nothing. */
const SILENT_MS = 30_000;
const WATCH_MS = 1_000;
/** With a rebalance of the others. */
const JOIN_MS = 60_000;
/** KafkaJS leaves a group only when Kafka has heard of it; while that is away, the group finds out by itself. */
const LEAVE_MS = 3_000;

/**
 * Reads topics at least once: database commit, then the offset. A record that is unacceptable is found by halving its
 * chunk, goes to the dead-letter topic and holds up nothing; any other failure is tried again, with growing delays,
 * until it passes. A consumer that crashed, or of which nothing is heard, is replaced by a new one.
 */
export class RecordConsumer implements Part, Dependency {
  readonly name: string;
  private readonly options: RecordConsumerOptions;
  private consumer: Consumer | undefined;
  private joined = false;
  /** When Kafka last took a sign of life, by `performance.now()`. */
  private heardAt = 0;
  private stopped = false;
  private building: Promise<void> | undefined;
  private watching: NodeJS.Timeout | undefined;

  constructor(options: RecordConsumerOptions) {
    this.options = options;
    this.name = `kafka-consumer ${options.groupId}`;
  }

  /** False from the start until it has joined its group, and when Kafka has not been heard of for 10 s. */
  isReady(): boolean {
    return this.joined && performance.now() - this.heardAt < SESSION_MS;
  }

  start(): void {
    this.building = this.build();
    this.watching = setInterval(() => this.replaceIfSilent(), WATCH_MS);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearInterval(this.watching);
    this.joined = false;
    const left = Promise.all([this.consumer?.disconnect(), this.building]);
    await atMost(LEAVE_MS, left).catch(() => undefined);
  }

  private async build(): Promise<void> {
    const { kafka, groupId, topicPrefix, topics, log } = this.options;
    while (!this.stopped) {
      // KafkaJS asks whether to begin again only where the failure may pass; begun again is here, with a new consumer.
      let mayPass = false;
      const consumer = kafka.consumer({
        groupId: topicPrefix + groupId,
        sessionTimeout: SESSION_MS,
        heartbeatInterval: 1_000,
        rebalanceTimeout: 20_000,
        allowAutoTopicCreation: false,
        maxWaitTimeInMs: 500,
        retry: {
          restartOnFailure: () => {
            mayPass = true;
            return Promise.resolve(false);
          },
        },
      });
      this.consumer = consumer;
      const isCurrent = (): boolean => this.consumer === consumer;
      consumer.on(consumer.events.HEARTBEAT, () => {
        if (isCurrent()) this.heardAt = performance.now();
      });
      consumer.on(consumer.events.GROUP_JOIN, () => {
        if (!isCurrent()) return;
        this.heardAt = performance.now();
        this.joined = true;
      });
      consumer.on(consumer.events.CRASH, ({ payload }) => {
        log[mayPass ? 'warn' : 'error']({ groupId, err: payload.error }, 'kafka.consumer_crashed');
        if (isCurrent()) this.replace(consumer);
      });
      try {
        await consumer.connect();
        if (this.stopped) return await consumer.disconnect();
        await consumer.subscribe({ topics: topics.map((topic) => topicPrefix + topic), fromBeginning: true });
        const running = consumer.run({
          eachBatchAutoResolve: false,
          partitionsConsumedConcurrently: this.options.concurrency ?? 1,
          eachBatch: (payload) => this.takeBatch(payload),
        });
        await atMost(JOIN_MS, running);
        if (!isCurrent()) return;
        if (!this.joined) throw new Error('the group was not joined in time');
        log.info({ groupId }, 'kafka.consumer_running');
        return;
      } catch (error) {
        log.warn({ groupId, err: error }, 'kafka.consumer_start_failed');
        await leave(consumer);
        await delay(REBUILD_MS);
      }
    }
  }

  private replaceIfSilent(): void {
    const { silentMs = SILENT_MS, groupId, log } = this.options;
    const silentForMs = performance.now() - this.heardAt;
    if (!this.joined || this.consumer === undefined || silentForMs < silentMs) return;
    log.warn({ groupId, silentForMs: Math.round(silentForMs) }, 'kafka.consumer_silent');
    this.replace(this.consumer);
  }

  private replace(consumer: Consumer): void {
    this.consumer = undefined;
    this.joined = false;
    this.building = this.rebuild(consumer);
  }

  private async rebuild(gone: Consumer): Promise<void> {
    await leave(gone);
    await delay(REBUILD_MS);
    if (!this.stopped) await this.build();
  }

  private async takeBatch(payload: EachBatchPayload): Promise<void> {
    const { batch, resolveOffset, heartbeat, isRunning, isStale } = payload;
    const { chunkSize = 500, topicPrefix, metrics } = this.options;
    const topic = batch.topic.slice(topicPrefix.length);
    const records = batch.messages.map((message) => receivedRecord(message, topic, batch.partition));
    for (let start = 0; start < records.length; start += chunkSize) {
      if (!isRunning() || isStale() || this.stopped) return;
      const chunk = records.slice(start, start + chunkSize);
      if (!(await this.take(chunk, payload))) return;
      resolveOffset(chunk.at(-1)!.offset);
      metrics.recordsHandled.inc({ topic }, chunk.length);
      await heartbeat();
    }
  }

  /** True once every record is taken or dead-lettered; false when this consumer is to give them up. */
  private async take(records: ReceivedRecord[], payload: EachBatchPayload): Promise<boolean> {
    const { handle, log } = this.options;
    for (let failures = 0; ; failures++) {
      if (!payload.isRunning() || payload.isStale() || this.stopped) return false;
      try {
        await handle(records);
        return true;
      } catch (error) {
        if (error instanceof UnacceptableRecord || isDataFault(error)) {
          if (records.length > 1) {
            const half = Math.ceil(records.length / 2);
            return (
              (await this.take(records.slice(0, half), payload)) && this.take(records.slice(half), payload)
            );
          }
          if (await this.tryDeadLetter(records[0]!, error)) return true;
        }
        const delayMs = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** failures);
        log.warn(
          { topic: records[0]?.topic, failures: failures + 1, delayMs, err: error },
          'kafka.handler_failed',
        );
        await delay(delayMs);
        await payload.heartbeat();
      }
    }
  }

  private async tryDeadLetter(record: ReceivedRecord, error: unknown): Promise<boolean> {
    try {
      await this.deadLetter(record, error);
      return true;
    } catch {
      return false;
    }
  }

  private async deadLetter(record: ReceivedRecord, error: unknown): Promise<void> {
    const { deadLetterTopic, publisher, metrics, log } = this.options;
    const { topic, partition, offset } = record;
    await publisher.publish([
      {
        topic: deadLetterTopic,
        key: record.key,
        value: record.value,
        headers: {
          ...record.headers,
          'dlq-topic': topic,
          'dlq-partition': String(partition),
          'dlq-offset': offset,
          'dlq-code': error instanceof UnacceptableRecord ? 'unacceptable' : 'refused_by_database',
          'dlq-error':
            error instanceof UnacceptableRecord ? error.message : 'the database refused it as data',
          'dlq-at': new Date().toISOString(),
        },
      },
    ]);
    metrics.recordsDeadLettered.inc({ topic });
    log.error({ topic, partition, offset, err: error }, 'kafka.record_dead_lettered');
  }
}

const leave = (consumer: Consumer): Promise<void> =>
  atMost(LEAVE_MS, consumer.disconnect()).catch(() => undefined);

export const receivedRecord = (message: KafkaMessage, topic: string, partition: number): ReceivedRecord => ({
  topic,
  partition,
  offset: message.offset,
  key: message.key?.toString() ?? null,
  value: message.value,
  headers: Object.fromEntries(
    Object.entries(message.headers ?? {}).map(([name, value]) => [
      name,
      String(Array.isArray(value) ? value[0] : value),
    ]),
  ),
  timestamp: new Date(Number(message.timestamp)),
});
