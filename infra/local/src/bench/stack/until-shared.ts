import { setTimeout as sleep } from 'node:timers/promises';
import { withDatabase } from './fresh-database.ts';

const withinMs = 60_000;
const lookEveryMs = 200;

/** Resolves when so many dispatchers hold all shards, each its fair share. */
export const untilShared = (databaseUrl: string, instances: number, signal: AbortSignal): Promise<void> =>
  withDatabase(databaseUrl, async (client) => {
    const deadline = Date.now() + withinMs;
    for (;;) {
      signal.throwIfAborted();
      const { rows } = await client.query<{ shards: number }>(
        `select count(*)::int as shards from shard_lease where until > now() group by owner`,
      );
      const held = rows.reduce((sum, { shards }) => sum + shards, 0);
      const most = Math.max(...rows.map(({ shards }) => shards));
      if (held === 64 && rows.length === instances && most <= Math.ceil(64 / instances)) return;
      if (Date.now() > deadline) throw new Error(`${instances} dispatchers do not share the shards evenly.`);
      await sleep(lookEveryMs);
    }
  });
