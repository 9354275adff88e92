import { setTimeout as delay } from 'node:timers/promises';
import { PollLoop, type Logger, type Part, type ShardLeases, type Sql } from '@assistance/service-kit';
import type { LaneOwner } from './lane-owner.ts';

const COMMANDS_PER_TURN = 200;
const MOST_UNDERWAY = 1_000;
const MOST_REFRESHING = 1_000;
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
  /** Subscriptions that are being read anew: their commands wait for it. */
  const refreshing = new Set<string>();
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
         and subscription_id <> all($4::text[]) and (kind = 'retry' or $5::bool)
       order by id limit ${COMMANDS_PER_TURN}`,
      shards,
      [...underway],
      underway.size < MOST_UNDERWAY,
      [...refreshing],
      refreshing.size < MOST_REFRESHING,
    );
    const refreshes = Map.groupBy(
      commands.filter(({ kind }) => kind !== 'retry'),
      (row) => row.subscription_id,
    );
    for (const [subscriptionId, asked] of refreshes) void refreshAside(subscriptionId, asked);
    const retries = commands.filter((row) => row.kind === 'retry' && !refreshing.has(row.subscription_id));
    for (const command of retries) retry(command);
    return commands.length === COMMANDS_PER_TURN;
  }

  /** One that has to end what is under way waits for its receiver; the others' commands do not wait for that. */
  async function refreshAside(subscriptionId: string, asked: CommandRow[]): Promise<void> {
    refreshing.add(subscriptionId);
    try {
      const anew = asked.some(({ kind }) => kind === 'reload');
      if (await refresh(subscriptionId, { anew })) await remove(asked);
      else await delay(POLL_MS);
    } catch (error) {
      log.warn({ err: error, subscriptionId }, 'lane_command.not_done');
      await delay(POLL_MS);
    }
    refreshing.delete(subscriptionId);
    loop.wake();
  }

  async function refresh(subscriptionId: string, how: { anew: boolean }): Promise<boolean> {
    const held = await sql.$queryRawUnsafe<CommandRow[]>(
      `select ${commandColumns} from lane_command where subscription_id = $1 and held and id <> all($2::bigint[])
       order by id limit ${COMMANDS_PER_TURN}`,
      subscriptionId,
      [...underway],
    );
    // They begin before what a resumption begins; where there is none, the rest is held again.
    for (const command of held) retry(command, { whilePaused: true });
    const done = await owner.refresh(subscriptionId, how);
    if (!done) return false;
    await sql.$executeRawUnsafe(
      'update lane_command set held = false where subscription_id = $1 and held',
      subscriptionId,
    );
    return true;
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
