import { PollLoop, type Logger, type Part, type ShardLeases, type Sql } from '@assistance/service-kit';
import type { LaneOwner } from './lane-owner.ts';

const COMMANDS_PER_TURN = 200;
const POLL_MS = 500;

interface CommandRow {
  id: bigint;
  kind: 'refresh' | 'retry';
  subscription_id: string;
  lane_no: bigint | null;
  seq: bigint | null;
}

/**
 * Does what the mirror and the interface ask of the owner of a shard, in order. A command is deleted after it is done:
 * dying between the two does it again, which changes nothing.
 */
export function createLaneCommandFollower(options: {
  sql: Sql;
  leases: ShardLeases;
  owner: LaneOwner;
  log: Logger;
}): Part & { wake(): void } {
  const { sql, leases, owner, log } = options;
  const loop = new PollLoop({
    name: 'lane-commands',
    intervalMs: POLL_MS,
    log,
    turn: async () => {
      const shards = leases.heldShards();
      if (shards.length === 0) return false;
      const commands = await sql.$queryRawUnsafe<CommandRow[]>(
        `select id, kind, subscription_id, lane_no, seq from lane_command
         where shard = any($1::int[]) order by id limit ${COMMANDS_PER_TURN}`,
        shards,
      );
      if (commands.length === 0) return false;
      const refreshed = new Set(
        commands.filter(({ kind }) => kind === 'refresh').map((row) => row.subscription_id),
      );
      await Promise.all([...refreshed].map((subscriptionId) => owner.refresh(subscriptionId)));
      for (const { kind, subscription_id, lane_no, seq } of commands) {
        if (kind === 'retry') await owner.retry(subscription_id, Number(lane_no), Number(seq));
      }
      await sql.$executeRawUnsafe(
        'delete from lane_command where id = any($1::bigint[])',
        commands.map(({ id }) => id),
      );
      return commands.length === COMMANDS_PER_TURN;
    },
  });
  return {
    name: 'lane-commands',
    wake: () => loop.wake(),
    start: () => loop.start(),
    stop: () => loop.stop(),
  };
}
