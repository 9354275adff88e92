import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { forkLoad } from '../load/fork-load.ts';
import type { DropDaysOptions } from '../load/drop-days.ts';
import type { Row } from '../row.ts';
import { quantile } from '../median.ts';
import { dispatching } from '../stack/dispatching.ts';
import { withDatabase } from '../stack/fresh-database.ts';
import { measureMachine } from '../stack/measure-bare-loop.ts';
import { steadyDeliveries } from '../stack/steady-deliveries.ts';

const type = 'document.available';
const attempts = 5_000_000;
const retentionDays = 7;

/** Of a day that is no longer kept; the dispatcher that delivers has not seen it, because it looks once an hour. */
export const droppingADay: Row = {
  name: 'dropping-a-day',
  about: 'dropping a day of 5 million attempts: how long it takes, and delays deliveries',
  run: async (bench) => {
    const limit = await measureMachine(bench);
    const subscriptions = [{ types: [type], path: '/all/now' }];
    return dispatching(bench, { subscriptions }, async ({ receiver, topicPrefix, databaseUrl }) => {
      await withDatabase(databaseUrl, seedOldDay);
      const timesOf = (seconds: number) =>
        steadyDeliveries(bench, {
          ...{ receiver, topicPrefix, type, perSecond: 100, seconds },
          ...{ group: 'all', subscriptions: 1 },
        });
      const without = await timesOf(10);
      const delivering = timesOf(10);
      await sleep(7_000); // past the warm-up
      const options: DropDaysOptions = { databaseUrl, retentionDays };
      const load = forkLoad(bench.stack.ledger, 'drop-days.ts', options);
      const dropped = await load.heard<{ partitions: number; tookMs: number }>('dropped');
      await load.close();
      if (dropped.partitions === 0) throw new Error('Nothing was dropped.');
      const beside = await delivering;
      const most = (times: number[]): number => quantile(times, 1);
      return [
        {
          what: 'dropping a day of 5 million attempts',
          ...{ value: dropped.tookMs / 1000, unit: 's', limit, goal: { atMost: 1 } },
        },
        {
          what: 'event → received meanwhile at 100/s, slowest',
          ...{ value: most(beside), unit: 'ms', limit, ratio: most(beside) / most(without) },
          of: `the slowest without, ${most(without).toFixed(1)} ms`,
        },
      ];
    });
  },
};

async function seedOldDay(client: Client): Promise<void> {
  const day = `(clock_timestamp() at time zone 'UTC')::date - ${retentionDays + 1}`;
  await client.query(`select make_day(${day})`);
  await client.query(
    `insert into attempt (lane_no, seq, attempt_number, attempted_at, duration_ms, reason, response_status)
     select 1 + n % 50, seq_of((${day})::timestamp at time zone 'UTC') + n, 1, now() - interval '8 days', 5, 'http_status', 500
     from generate_series(1, $1::int) n`,
    [attempts],
  );
  await client.query('checkpoint');
}
