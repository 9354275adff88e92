import { shardOf, type Sql } from '@assistance/service-kit';
import { LANE_SHARDS } from './lane-shards.ts';

/** Asks the owner of a subscription's shard to read it anew. In the transaction that changed it. */
export async function askRefresh(sql: Sql, subscriptionId: string): Promise<void> {
  await ask(sql, 'refresh', subscriptionId, null, null);
}

/** Asks the owner for one attempt now. */
export async function askRetry(sql: Sql, subscriptionId: string, laneNo: number, seq: number): Promise<void> {
  await ask(sql, 'retry', subscriptionId, laneNo, seq);
}

async function ask(
  sql: Sql,
  kind: 'refresh' | 'retry',
  subscriptionId: string,
  laneNo: number | null,
  seq: number | null,
): Promise<void> {
  await sql.$queryRawUnsafe(
    `with asked as (
       insert into lane_command (shard, kind, subscription_id, lane_no, seq) values ($1::int, $2, $3, $4::bigint, $5::bigint)
     )
     select pg_notify('lane_command', '')::text`,
    shardOf(subscriptionId, LANE_SHARDS),
    kind,
    subscriptionId,
    laneNo,
    seq,
  );
}
