import { eventTypeNames } from '@assistance/types';
import type { Row } from '../row.ts';
import { measureThroughput } from '../stack/measure-throughput.ts';

const subscriptionsPerType = 10;

export const fanOut: Row = {
  name: 'fan-out',
  about: 'deliveries a second, each event to ten subscriptions',
  run: async (bench) => [
    await measureThroughput(bench, {
      what: 'deliveries, each event to 10 of 40 subscriptions',
      subscriptions: eventTypeNames.flatMap((type) =>
        Array.from({ length: subscriptionsPerType }, () => [type]),
      ),
      types: eventTypeNames,
      events: 6_000,
      goal: { atLeast: 0.6 },
    }),
  ],
};
