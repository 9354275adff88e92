import { PollLoop, type Logger, type Part, type ShardLeases, type Sql } from '@assistance/service-kit';
import type { LaneOwner } from './lane-owner.ts';

const COMMANDS_PER_TURN = 200;
const MOST_UNDERWAY = 1_000;
const POLL_MS = 500;

interface CommandRow {
  id: bigint;
  kind: 'refresh' | 'reload' | 'retry';
  subscription_id: string;
  lane_no: bigint | null;
  seq: bigint | null;
}

const commandColumns = 'id, kind, subscription_id, lane_no, seq';

/**
 * Does what the mirror and the interface ask of the owner of a shard, in order. A command is deleted after it is done, a
 * retry after its attempt is recorded: dying before does it again. Retries of a paused subscription are held in the
 * table, and go before its backlog when it is resumed.
 */
export function createLaneCommandFollower(options: {
  sql: Sql;
  leases: ShardLeases;
  owner: LaneOwner;
  log: Logger;
}): Part & { wake(): void } {
  const { sql, leases, owner, log } = options;
  /** Retries whose attempt is not recorded yet. */
  const underway = new Set<bigint>();
  const loop = new PollLoop({ name: 'lane-commands', intervalMs: POLL_MS, log, turn });
  return {
    name: 'lane-commands',
    wake: () => loop.wake(),
    start: () => loop.start(),
    stop: () => loop.stop(),
  };

  async function turn(): Promise<boolean> {
    const shards = leases.heldShards();
    if (shards.length === 0) return false;
    const commands = await sql.$queryRawUnsafe<CommandRow[]>(
      `select ${commandColumns} from lane_command
       where shard = any($1::int[]) and not held and id <> all($2::bigint[]) and (kind <> 'retry' or $3::bool)
       order by id limit ${COMMANDS_PER_TURN}`,
      shards,
      [...underway],
      underway.size < MOST_UNDERWAY,
    );
    const refreshes = commands.filter(({ kind }) => kind !== 'retry');
    const refreshed = [...new Set(refreshes.map((row) => row.subscription_id))];
    const reloaded = new Set(commands.flatMap((row) => (row.kind === 'reload' ? [row.subscription_id] : [])));
    await Promise.all(refreshed.map((id) => refresh(id, { anew: reloaded.has(id) })));
    await remove(refreshes);
    for (const command of commands) if (command.kind === 'retry') retry(command);
    return commands.length === COMMANDS_PER_TURN;
  }

  async function refresh(subscriptionId: string, how: { anew: boolean }): Promise<void> {
    const held = await sql.$queryRawUnsafe<CommandRow[]>(
      `select ${commandColumns} from lane_command where subscription_id = $1 and held and id <> all($2::bigint[])
       order by id limit ${COMMANDS_PER_TURN}`,
      subscriptionId,
      [...underway],
    );
    // They begin before what a resumption begins; where there is none, the rest is held again.
    for (const command of held) retry(command, { whilePaused: true });
    await owner.refresh(subscriptionId, how);
    await sql.$executeRawUnsafe(
      'update lane_command set held = false where subscription_id = $1 and held',
      subscriptionId,
    );
  }

  function retry(command: CommandRow, how?: { whilePaused: boolean }): void {
    const { id, subscription_id, lane_no, seq } = command;
    underway.add(id);
    owner
      .retry({ subscriptionId: subscription_id, laneNo: Number(lane_no), seq: Number(seq) }, how)
      .then(async (result) => {
        if (result === 'done') await remove([command]);
        if (result === 'held') await hold(command);
      })
      .catch((error: unknown) => log.warn({ err: error }, 'lane_command.not_settled'))
      .finally(() => underway.delete(id));
  }

  async function remove(commands: CommandRow[]): Promise<void> {
    if (commands.length === 0) return;
    await sql.$executeRawUnsafe(
      'delete from lane_command where id = any($1::bigint[])',
      commands.map(({ id }) => id),
    );
  }

  async function hold({ id }: CommandRow): Promise<void> {
    await sql.$executeRawUnsafe('update lane_command set held = true where id = $1::bigint', id);
  }
}
