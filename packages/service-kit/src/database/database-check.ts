import type { Dependency } from '../runtime/readiness.ts';
import type { Logger } from '../runtime/logger.ts';
import { PollLoop } from '../runtime/poll-loop.ts';
import type { Part } from '../runtime/run-service.ts';
import type { Sql } from './sql.ts';

const askWritable = `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable`;

/** Asks the database each second whether it is there and can be written to; readiness follows. */
export function createDatabaseCheck({ sql, log }: { sql: Sql; log: Logger }): Part & Dependency {
  let ready = false;
  const loop = new PollLoop({
    name: 'database-check',
    intervalMs: 1_000,
    log,
    turn: async () => {
      try {
        const [answer] = await sql.$queryRawUnsafe<{ writable: boolean }[]>(askWritable);
        if (answer?.writable !== true) throw new Error('the database takes no writes');
        if (!ready) log.info('database.reachable');
        ready = true;
      } catch (error) {
        if (ready) log.error({ err: error }, 'database.unreachable');
        ready = false;
      }
      return false;
    },
  });
  return { name: 'database', isReady: () => ready, start: () => loop.start(), stop: () => loop.stop() };
}
