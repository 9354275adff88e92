import { quantile } from '../median.ts';
import type { Row } from '../row.ts';
import { dispatching } from '../stack/dispatching.ts';
import { measureMachine } from '../stack/measure-bare-loop.ts';
import { steadyDeliveries } from '../stack/steady-deliveries.ts';

const type = 'document.available';

export const latency: Row = {
  name: 'latency',
  about: 'from the producer of an event to its receiver, at 100 events a second',
  run: async (bench) => {
    const limit = await measureMachine(bench);
    const subscriptions = [{ types: [type], path: '/all/now' }];
    const times = await dispatching(bench, { subscriptions }, ({ receiver, topicPrefix }) =>
      steadyDeliveries(bench, {
        ...{ receiver, topicPrefix, type, perSecond: 100, seconds: 30 },
        ...{ group: 'all', subscriptions: 1 },
      }),
    );
    const what = 'event → received at 100/s';
    return [
      { what: `${what}, p50`, value: quantile(times, 0.5), unit: 'ms', limit, goal: { atMost: 8 } },
      { what: `${what}, p99`, value: quantile(times, 0.99), unit: 'ms', limit, goal: { atMost: 30 } },
    ];
  },
};
