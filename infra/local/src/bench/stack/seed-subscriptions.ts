import { createKeyRing, newId, shardOf } from '@assistance/service-kit';
import { generateSecret } from '@assistance/webhook-signature';
import type { Client } from 'pg';
import { throwawayKeyRing } from '../../test-run/throwaway-service-environment.ts';

export interface SeededSubscription {
  callbackUrl: string;
  types: readonly string[];
}

const laneShards = 64;

/**
 * Subscriptions as the dispatcher's mirror writes them, of everything from the beginning of the log; answers their lanes.
 * They are spread evenly over the shards, which chance does only for many.
 */
export async function seedSubscriptions(
  client: Client,
  subscriptions: SeededSubscription[],
): Promise<{ subscriptionId: string; laneNo: number }[]> {
  const keyRing = createKeyRing(throwawayKeyRing);
  const seeded = [];
  for (const [index, { callbackUrl, types }] of subscriptions.entries()) {
    const shard = index % laneShards;
    const subscriptionId = idOfShard(shard);
    const sealed = keyRing.seal(Buffer.from(generateSecret()), subscriptionId);
    const secrets = [{ sealed, createdAt: new Date().toISOString(), expiresAt: null }];
    await client.query(
      `insert into subscription
         (subscription_id, owner, version, status, status_epoch, callback_url, ordering, secrets, created_at)
       values ($1, 'bench#bench', 1, 'active', 1, $2, 'none', $3, now())`,
      [subscriptionId, callbackUrl, JSON.stringify(secrets)],
    );
    const { rows } = await client.query<{ lane_no: number }>(
      `insert into lane (subscription_id, shard, cursor, judged_epoch) values ($1, $2, 0, 1)
       returning lane_no::int`,
      [subscriptionId, shard],
    );
    const laneNo = rows[0]!.lane_no;
    await client.query(
      `insert into span (lane_no, type, from_seq) select $1, type, 0 from unnest($2::text[]) type`,
      [laneNo, types],
    );
    seeded.push({ subscriptionId, laneNo });
  }
  return seeded;
}

function idOfShard(shard: number): string {
  for (;;) {
    const subscriptionId = newId('sub');
    if (shardOf(subscriptionId, laneShards) === shard) return subscriptionId;
  }
}
