import type { Dependency } from '../runtime/readiness.ts';
import type { Logger } from '../runtime/logger.ts';
import { PollLoop } from '../runtime/poll-loop.ts';
import type { Part } from '../runtime/run-service.ts';
import type { Sql } from './sql.ts';

/** An answer that takes longer is none. */
const ANSWER_MS = 3_000;

const askWritable = `select not pg_is_in_recovery() and current_setting('transaction_read_only') = 'off' as writable`;

/** Asks the database each second whether it is there and can be written to; readiness follows within seconds. */
export function createDatabaseCheck({ sql, log }: { sql: Sql; log: Logger }): Part & Dependency {
  let ready = false;
  let asking: Promise<{ writable: boolean }[]> | undefined;
  /** One question at a time: a database that hangs must not take a connection for each. */
  const ask = (): Promise<{ writable: boolean }[]> =>
    (asking ??= Promise.resolve(sql.$queryRawUnsafe<{ writable: boolean }[]>(askWritable)).finally(() => {
      asking = undefined;
    }));
  const loop = new PollLoop({
    name: 'database-check',
    intervalMs: 1_000,
    log,
    turn: async () => {
      try {
        const [answer] = await inTime(ask());
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

function inTime<T>(answer: Promise<T>): Promise<T> {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('the database does not answer')), ANSWER_MS);
  return Promise.race([answer, overdue]).finally(() => clearTimeout(timer));
}
