import type { OutgoingRecord, RecordPublisher } from '../kafka/record-publisher.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { atMost } from '../runtime/at-most.ts';
import { PollLoop } from '../runtime/poll-loop.ts';
import type { Part } from '../runtime/run-service.ts';
import { ShardLeases } from './shard-leases.ts';
import type { Sql } from './sql.ts';

export const OUTBOX_SHARDS = 16;
const ROWS_PER_SHARD = 100;
const BYTES_PER_TURN = 800_000;
const POLL_MS = 200;
const REST_MS = 10;
/** How long a stop waits for Kafka to acknowledge what is under way. It may be away; the rows are still there. */
const STOP_WAIT_MS = 3_000;

interface OutboxRow {
  id: bigint;
  shard: number;
  topic: string;
  key: string;
  value: Uint8Array | null;
  headers: Record<string, string>;
  ageSeconds: number;
}

export interface OutboxRelayOptions {
  sql: Sql;
  publisher: RecordPublisher;
  metrics: Metrics;
  log: Logger;
}

/**
 * Publishes what a service committed to its `outbox` table, at least once and in the order of ids for each key: a row
 * that exists is pending, one instance owns a shard at a time, and a row is deleted only after Kafka has acknowledged
 * it. Dying between the two publishes it again; its consumers know its id.
 */
export class OutboxRelay implements Part {
  readonly name = 'outbox-relay';
  private readonly options: OutboxRelayOptions;
  private readonly leases: ShardLeases;
  private readonly loop: PollLoop;
  private underWay: Promise<unknown> = Promise.resolve();
  /** Where the last turn ended: the next one begins behind it, so that a busy shard never keeps the others waiting. */
  private lastShard = -1;

  constructor(options: OutboxRelayOptions) {
    this.options = options;
    this.loop = new PollLoop({
      name: this.name,
      intervalMs: POLL_MS,
      restMs: REST_MS,
      log: options.log,
      turn: () => this.turn(),
    });
    this.leases = new ShardLeases({
      sql: options.sql,
      name: 'outbox',
      shards: OUTBOX_SHARDS,
      log: options.log,
      onAcquired: () => this.wake(),
      onReleasing: () => atMost(STOP_WAIT_MS, this.underWay),
    });
  }

  /** Call after a commit that inserted an outbox row. */
  wake(): void {
    this.loop.wake();
  }

  start(): void {
    this.leases.start();
    this.loop.start();
  }

  async stop(): Promise<void> {
    await atMost(STOP_WAIT_MS, this.loop.stop());
    await this.leases.stop();
  }

  private async turn(): Promise<boolean> {
    const shards = this.leases.heldShards().sort((a, b) => a - b);
    if (shards.length === 0 || !this.options.publisher.isReady()) return false;
    const behind = shards.filter((shard) => shard > this.lastShard);
    const before = shards.filter((shard) => shard <= this.lastShard);
    const turn = this.publishOnce([...behind, ...before]);
    this.underWay = turn.catch(() => undefined);
    return turn;
  }

  private async publishOnce(shards: number[]): Promise<boolean> {
    const { sql, publisher, metrics } = this.options;
    const rows = withinBytes(
      await sql.$queryRawUnsafe<OutboxRow[]>(
        `select o.id, o.shard, o.topic, o.key, o.value, o.headers,
                extract(epoch from clock_timestamp() - o.created_at)::float8 as "ageSeconds"
         from unnest($1::int[]) with ordinality as held (shard, turn)
         cross join lateral (
           select * from outbox where outbox.shard = held.shard order by outbox.id limit ${ROWS_PER_SHARD}
         ) o
         order by held.turn, o.id`,
        shards,
      ),
    );
    metrics.outboxOldestSeconds.set(Math.max(0, ...rows.map((row) => row.ageSeconds)));
    if (rows.length === 0) return false;
    this.lastShard = rows.at(-1)?.shard ?? -1;
    // A lease that ended meanwhile belongs to another relay, which publishes these rows.
    const mine = rows.filter((row) => this.leases.holds(row.shard));
    await publisher.publish(mine.map(recordOf));
    await sql.$executeRawUnsafe(
      'delete from outbox where id = any($1::bigint[])',
      mine.map((row) => row.id),
    );
    metrics.outboxPublished.inc(mine.length);
    return true;
  }
}

function withinBytes(rows: OutboxRow[]): OutboxRow[] {
  let bytes = 0;
  const tooMany = rows.findIndex((row, index) => {
    bytes += row.value?.length ?? 0;
    return index > 0 && bytes > BYTES_PER_TURN;
  });
  return tooMany === -1 ? rows : rows.slice(0, tooMany);
}

const recordOf = ({ topic, key, value, headers }: OutboxRow): OutgoingRecord => ({
  topic,
  key,
  value: value === null ? null : Buffer.from(value),
  headers,
});
