import { moreTypes, topicOfMore } from '../load/more-types.ts';
import type { Row } from '../row.ts';
import { measureThroughput } from '../stack/measure-throughput.ts';

export const deliveriesBesideProducer: Row = {
  name: 'deliveries-beside-producer',
  about: 'the same while 5,000 events a second are published on the same machine',
  run: async (bench) => [
    await measureThroughput(bench, {
      what: 'deliveries, 50 subscriptions, a producer beside',
      subscriptions: moreTypes.map((type) => [type]),
      types: moreTypes,
      further: moreTypes.map(topicOfMore),
      events: 60_000,
      producerPerSecond: 5_000,
      goal: { atLeast: 0.35 },
    }),
  ],
};
