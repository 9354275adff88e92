import type { Row } from '../row.ts';
import { dispatching } from '../stack/dispatching.ts';
import { withDatabase } from '../stack/fresh-database.ts';
import { measureMachine } from '../stack/measure-bare-loop.ts';
import { pageCosts, walkPages } from '../stack/page-cost.ts';
import { seedEvents } from '../stack/seed-events.ts';
import { tokenOf } from '../stack/start-applications.ts';

const type = 'document.available';
const deep = 9_999;
const perPage = 20;
const events = (deep + 10) * perPage;

export const deliveryLog: Row = {
  name: 'delivery-log',
  about: 'a page of the delivery log: the ten-thousandth ÷ the first',
  run: async (bench) => {
    const limit = await measureMachine(bench);
    return dispatching(
      bench,
      {
        subscriptions: [{ types: [type], path: '/-/now' }],
        seed: async (client, [lane]) => {
          await seedEvents(client, type, events);
          await client.query(
            `insert into delivery (lane_no, seq, attempts, attempted_at, duration_ms, response_status)
             select $1, seq, 1, arrived_at, 5, 200 from event`,
            [lane],
          );
          await client.query('update lane set cursor = (select seq from log_head), delivered = $1', [events]);
          await client.query('vacuum analyze delivery');
        },
      },
      async ({ dispatcher, databaseUrl }) => {
        await withDatabase(databaseUrl, (client) =>
          client.query('update subscription set owner = $1', [`${bench.issuer.issuer}#bench`]),
        );
        const list = {
          url: `${dispatcher.url}/deliveries/v1/deliveries?limit=${perPage}`,
          token: tokenOf(bench),
        };
        const cursor = await walkPages(list, deep, bench.signal);
        const [first, last] = await pageCosts([
          { ...list, cursor: null },
          { ...list, cursor },
        ]);
        return [
          {
            what: 'delivery log, page 10,000',
            ...{ value: last!, unit: 'ms', limit, ratio: last! / first! },
            ...{ of: `page 1, ${first!.toFixed(2)} ms`, goal: { atMost: 1.1 } },
          },
        ];
      },
    );
  },
};
