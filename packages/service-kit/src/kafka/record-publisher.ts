import { CompressionTypes, Partitioners, type Kafka, type Message, type Producer } from 'kafkajs';
import { atMost } from '../runtime/at-most.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Dependency } from '../runtime/readiness.ts';
import type { Part } from '../runtime/run-service.ts';

export interface OutgoingRecord {
  topic: string;
  key: string;
  /** Null is a tombstone on a compacted topic. */
  value: Buffer | null;
  headers: Record<string, string>;
}

/** A record as somebody else may have made it. */
export type RecordOfAnyKey = Omit<OutgoingRecord, 'key'> & { key: string | null };

const CONNECT_RETRY_MS = 1_000;
const DISCONNECT_MS = 3_000;
/** A record that is not acknowledged for so long means that Kafka is away. */
const AWAY_MS = 10_000;

/**
 * Writes records, acknowledged by all in-sync replicas. KafkaJS's idempotent producer can drop a batch silently after
 * an error, so a producer whose send was rejected is thrown away and a new one made.
 */
export class RecordPublisher implements Part, Dependency {
  readonly name = 'kafka-publisher';
  private readonly kafka: Kafka;
  private readonly topicPrefix: string;
  private readonly log: Logger;
  private producer: Producer | undefined;
  private connected = false;
  private stopped = false;
  /** The publishing under way, by the time of its beginning. */
  private readonly underWay = new Set<{ since: number }>();

  constructor(options: { kafka: Kafka; topicPrefix: string; log: Logger }) {
    this.kafka = options.kafka;
    this.topicPrefix = options.topicPrefix;
    this.log = options.log;
  }

  /** False from the start until Kafka is there, and while it acknowledges nothing. */
  isReady(): boolean {
    const overdue = performance.now() - AWAY_MS;
    return this.connected && ![...this.underWay].some(({ since }) => since < overdue);
  }

  start(): void {
    void this.connect();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.connected = false;
    if (this.producer !== undefined) await atMost(DISCONNECT_MS, this.producer.disconnect());
  }

  /** Resolves when every record is acknowledged; rejects when that is not known, and then all may be sent again. */
  async publish(records: RecordOfAnyKey[]): Promise<void> {
    if (records.length === 0) return;
    const producer = this.producer;
    if (producer === undefined || !this.connected) throw new Error('Kafka is not connected');
    const turn = { since: performance.now() };
    this.underWay.add(turn);
    const byTopic = Map.groupBy(records, (record) => this.topicPrefix + record.topic);
    try {
      await producer.sendBatch({
        acks: -1,
        compression: CompressionTypes.None,
        topicMessages: [...byTopic].map(([topic, of]) => ({ topic, messages: of.map(messageOf) })),
      });
    } catch (error) {
      await this.replace(producer);
      throw error;
    } finally {
      this.underWay.delete(turn);
    }
  }

  private async connect(): Promise<void> {
    while (!this.stopped) {
      const producer = this.kafka.producer({
        idempotent: true,
        maxInFlightRequests: 1,
        allowAutoTopicCreation: false,
        createPartitioner: Partitioners.DefaultPartitioner,
      });
      producer.on(producer.events.DISCONNECT, () => {
        if (this.producer === producer && !this.stopped) void this.replace(producer);
      });
      try {
        this.producer = producer;
        await producer.connect();
        if (this.stopped) return await producer.disconnect();
        this.connected = true;
        this.log.info('kafka.publisher_connected');
        return;
      } catch (error) {
        this.log.warn({ err: error }, 'kafka.publisher_connect_failed');
        await new Promise((resolve) => setTimeout(resolve, CONNECT_RETRY_MS));
      }
    }
  }

  private async replace(producer: Producer): Promise<void> {
    if (this.producer !== producer) return;
    this.producer = undefined;
    this.connected = false;
    await producer.disconnect().catch(() => undefined);
    void this.connect();
  }
}

const messageOf = ({ key, value, headers }: RecordOfAnyKey): Message => ({ key, value, headers });
