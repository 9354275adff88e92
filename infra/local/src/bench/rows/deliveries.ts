import { moreTypes, topicOfMore } from '../load/more-types.ts';
import { measureThroughput } from '../stack/measure-throughput.ts';
import type { Row } from '../row.ts';

/** Fifty subscriptions, each with an event type of its own: one delivery for each event. */
export const deliveries: Row = {
  name: 'deliveries',
  about: 'deliveries a second, events already on Kafka, fifty subscriptions',
  run: async (bench) => [
    await measureThroughput(bench, {
      what: 'deliveries, 50 subscriptions',
      subscriptions: moreTypes.map((type) => [type]),
      types: moreTypes,
      further: moreTypes.map(topicOfMore),
      events: 60_000,
      goal: { atLeast: 0.5 },
    }),
  ],
};
