import type { Dependency } from '../runtime/readiness.ts';
import type { Logger } from '../runtime/logger.ts';
import { PollLoop } from '../runtime/poll-loop.ts';
import type { Part } from '../runtime/run-service.ts';
import type { Sql } from './sql.ts';

/** Asks the database each second whether it is there and can write; readiness follows. */
export function createDatabaseCheck({ sql, log }: { sql: Sql; log: Logger }): Part & Dependency {
  let ready = false;
  const loop = new PollLoop({
    name: 'database-check',
    intervalMs: 1_000,
    log,
    turn: async () => {
      try {
        await sql.$queryRawUnsafe('select 1');
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
