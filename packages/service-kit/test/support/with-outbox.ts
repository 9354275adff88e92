import { waitUntil } from '@assistance/test-kit';
import {
  createMetrics,
  OutboxRelay,
  outboxRow,
  type OutboxRelayOptions,
  type OutgoingRecord,
  type ReceivedRecord,
} from '../../src/index.ts';
import { openTestDatabase, type OpenDatabase } from './open-test-database.ts';
import { log, record, startTopics, type TopicsOfTest } from './start-topics.ts';

export interface OutboxOfTest {
  database: OpenDatabase;
  topics: TopicsOfTest;
  /** A relay; stopped with the test. */
  startRelay(options?: Partial<OutboxRelayOptions>): OutboxRelay;
  insert(...records: OutgoingRecord[]): Promise<void>;
  left(): Promise<number>;
  empty(): Promise<unknown>;
  /** What has come to `things` and comes from now on. */
  things: ReceivedRecord[];
}

/** A test with an outbox and topics of its own. */
export const withOutbox = (body: (outbox: OutboxOfTest) => Promise<void>) => async (): Promise<void> => {
  const [database, topics] = await Promise.all([openTestDatabase(), startTopics()]);
  const left = async () =>
    Number((await database.pool.query('select count(*) as count from outbox')).rows[0].count);
  try {
    await body({
      database,
      topics,
      left,
      things: topics.watch('things'),
      empty: () => waitUntil(async () => (await left()) === 0, { timeoutMs: 20_000 }),
      insert: (...records) => insert(database, records),
      startRelay: (options) => {
        const { publisher } = topics;
        const relay = new OutboxRelay({
          ...{ sql: database.sql, publisher, metrics: createMetrics('test'), log },
          ...options,
        });
        relay.start();
        return topics.keep(relay);
      },
    });
  } finally {
    await topics.stop();
    await database.close();
  }
};

async function insert({ pool }: OpenDatabase, records: OutgoingRecord[]): Promise<void> {
  const rows = records.map(outboxRow);
  await pool.query(
    `insert into outbox (shard, topic, key, value, headers)
     select * from unnest($1::int[], $2::text[], $3::text[], $4::bytea[], $5::jsonb[])`,
    [
      rows.map(({ shard }) => shard),
      rows.map(({ topic }) => topic),
      rows.map(({ key }) => key),
      rows.map(({ value }) => value),
      rows.map(({ headers }) => JSON.stringify(headers)),
    ],
  );
}

export const numbers = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => String(from + i));
export const numbered = (key: string, from: number, to: number): OutgoingRecord[] =>
  numbers(from, to).map((n) => record(key, n));
