import { publishEvents } from '../load/publish-events.ts';
import { startReceiver } from '../load/start-receiver.ts';
import type { Row } from '../row.ts';
import type { Bench } from '../stack/bench.ts';
import { freshDatabase, withDatabase } from '../stack/fresh-database.ts';
import { freshTopics } from '../stack/fresh-topics.ts';
import { measureMachine } from '../stack/measure-bare-loop.ts';
import { seedSubscriptions } from '../stack/seed-subscriptions.ts';
import { startDispatcher, type StartedService } from '../stack/start-service.ts';
import { untilShared } from '../stack/until-shared.ts';

const type = 'document.available';
const subscriptions = 256;
const events = 50;
const environment = { MAX_IN_FLIGHT: '64' };

/** Each is held to 64 in flight for this figure alone, so that what is measured is how they share the work. */
export const twoDispatchers: Row = {
  name: 'two-dispatchers',
  about: 'deliveries a second by two dispatchers ÷ by one, to a receiver that takes 100 ms',
  run: async (bench) => {
    const limit = await measureMachine(bench);
    const one = await perSecondOf(bench, 1);
    const two = await perSecondOf(bench, 2);
    return [
      {
        what: 'deliveries by two dispatchers, each held to 64 in flight',
        value: two,
        unit: '/s',
        limit,
        ratio: two / one,
        of: `${Math.round(one)}/s by one`,
        goal: { atLeast: 1.8 },
      },
    ];
  },
};

async function perSecondOf(bench: Bench, instances: number): Promise<number> {
  const { stack } = bench;
  const receiver = await startReceiver(stack.ledger);
  const started: StartedService[] = [];
  try {
    const databaseUrl = await freshDatabase(stack, 'webhook-dispatcher');
    const topicPrefix = await freshTopics(stack);
    const subscribed = { types: [type], callbackUrl: `${receiver.urls[0]}/-/100` };
    await withDatabase(databaseUrl, (client) =>
      seedSubscriptions(
        client,
        Array.from({ length: subscriptions }, () => subscribed),
      ),
    );
    for (let instance = 0; instance < instances; instance += 1)
      started.push(await startDispatcher(bench, { databaseUrl, topicPrefix, environment }));
    await untilShared(databaseUrl, instances, bench.signal);
    const count = subscriptions * events;
    const reached = receiver.expect(count);
    await publishEvents({ brokers: stack.brokers, topicPrefix, types: [type], count: events });
    const { firstAt, lastAt } = await reached;
    return (count / (lastAt - firstAt)) * 1000;
  } finally {
    await Promise.all(started.map((dispatcher) => dispatcher.stop()));
    await receiver.close();
  }
}
