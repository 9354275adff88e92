import { shardOf } from '../runtime/shard-of.ts';
import { OUTBOX_SHARDS } from './outbox-relay.ts';
import type { OutgoingRecord } from '../kafka/record-publisher.ts';

/** Below what Kafka takes as one message (1 MiB by default), its key and headers included. */
const MAX_VALUE_BYTES = 900_000;

/**
 * A record as a row of the `outbox` table; insert it in the transaction of the change that it tells. Throws when Kafka
 * would never take it: then the change fails, instead of everything behind it in the outbox.
 */
export function outboxRow({ topic, key, value, headers }: OutgoingRecord) {
  if ((value?.length ?? 0) > MAX_VALUE_BYTES) throw new RangeError('the record is too large for Kafka');
  return {
    shard: shardOf(key, OUTBOX_SHARDS),
    topic,
    key,
    value: value === null ? null : Uint8Array.from(value),
    headers,
  };
}
