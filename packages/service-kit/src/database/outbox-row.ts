import { shardOf } from '../runtime/shard-of.ts';
import { OUTBOX_SHARDS } from './outbox-relay.ts';
import type { OutgoingRecord } from '../kafka/record-publisher.ts';

/** A record as a row of the `outbox` table; insert it in the transaction of the change that it tells. */
export const outboxRow = ({ topic, key, value, headers }: OutgoingRecord) => ({
  shard: shardOf(key, OUTBOX_SHARDS),
  topic,
  key,
  value: value === null ? null : Uint8Array.from(value),
  headers,
});
