import { PollLoop, type Logger, type Part, type Sql } from '@assistance/service-kit';

const DAYS_AHEAD = 3;
const EVERY_MS = 600_000;

/** Makes the partitions of today and the next days, by the database's clock. Safe to run again. */
export async function makeDayPartitions(sql: Sql): Promise<void> {
  await sql.$queryRawUnsafe(
    `select make_day(d::date)::text from generate_series(
       (clock_timestamp() at time zone 'UTC')::date, (clock_timestamp() at time zone 'UTC')::date + ${DAYS_AHEAD},
       interval '1 day') as d`,
  );
}

/** Keeps day partitions made ahead of time. */
export function createDayPartitions({ sql, log }: { sql: Sql; log: Logger }): Part {
  const loop = new PollLoop({
    name: 'day-partitions',
    intervalMs: EVERY_MS,
    log,
    turn: async () => {
      await makeDayPartitions(sql);
      return false;
    },
  });
  return { name: 'day-partitions', start: () => loop.start(), stop: () => loop.stop() };
}
