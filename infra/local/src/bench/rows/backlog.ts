import type { Row } from '../row.ts';
import type { Bench } from '../stack/bench.ts';
import { compareHealthy } from '../stack/compare-healthy.ts';
import { dispatching, type Dispatching } from '../stack/dispatching.ts';
import { seedEvents } from '../stack/seed-events.ts';
import { steadyDeliveries } from '../stack/steady-deliveries.ts';

const type = 'document.available';
const typeOfBacklog = 'case.status_changed';
const healthy = 8;
const backlog = 1_000_000;

/** The lane with the backlog is being delivered all the while, to a receiver that answers after 20 ms. */
export const besideBacklog: Row = {
  name: 'backlog',
  about: 'p99 of subscribers that are up to date, beside a backlog of a million in one lane',
  run: async (bench) => [
    await withDispatcher(bench, 0, (without) =>
      withDispatcher(bench, backlog, (beside) =>
        compareHealthy(bench, 'event → received, a million waiting in another lane, p99', {
          without: () => timesOf(bench, without),
          beside: () => timesOf(bench, beside),
        }),
      ),
    ),
  ],
};

const withDispatcher = <T>(
  bench: Bench,
  events: number,
  work: (one: Dispatching) => Promise<T>,
): Promise<T> =>
  dispatching(
    bench,
    {
      subscriptions: [
        { types: [typeOfBacklog], path: '/-/20' },
        ...Array.from({ length: healthy }, () => ({ types: [type], path: '/healthy/now' })),
      ],
      seed: (client) => (events === 0 ? Promise.resolve() : seedEvents(client, typeOfBacklog, events)),
    },
    work,
  );

const timesOf = (bench: Bench, { receiver, topicPrefix }: Dispatching): Promise<number[]> =>
  steadyDeliveries(bench, {
    ...{ receiver, topicPrefix, type, perSecond: 50, seconds: 15 },
    ...{ group: 'healthy', subscriptions: healthy },
  });
