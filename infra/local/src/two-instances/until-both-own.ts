import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Stage } from './stage.ts';

/** What an instance must hold a lease of to do its share. */
const leases = [
  ['applications', 'outbox_lease'],
  ['subscriptions', 'outbox_lease'],
  ['webhook-dispatcher', 'shard_lease'],
  ['webhook-dispatcher', 'outbox_lease'],
] as const;
const withinMs = 60_000;
const lookEveryMs = 200;

/** Resolves when both instances of each service hold their shares of what the two divide. */
export async function untilBothOwn({ victim, signal }: Stage): Promise<void> {
  for (const [service, table] of leases) {
    const client = new Client(victim.addresses.databases[service]);
    await client.connect();
    try {
      const giveUpAt = Date.now() + withinMs;
      for (;;) {
        signal.throwIfAborted();
        const { rows } = await client.query<{ shards: number }>(
          `select count(*)::int as shards from ${table} group by owner, until > now()`,
        );
        if (rows.length === 2 && rows[0]!.shards === rows[1]!.shards) break;
        if (Date.now() > giveUpAt) throw new Error(`Two instances do not share ${service}'s ${table} evenly`);
        await sleep(lookEveryMs, undefined, { signal });
      }
    } finally {
      await client.end();
    }
  }
}
