import { startReceiver, type Receiver } from '../load/start-receiver.ts';
import type { Bench } from './bench.ts';
import { freshDatabase, withDatabase } from './fresh-database.ts';
import { freshTopics } from './fresh-topics.ts';
import { seedSubscriptions } from './seed-subscriptions.ts';
import { startDispatcher, type ServiceOptions, type StartedService } from './start-service.ts';

export interface Dispatching {
  dispatcher: StartedService;
  receiver: Receiver;
  databaseUrl: string;
  topicPrefix: string;
}

export interface DispatchingOptions {
  subscriptions: { types: readonly string[]; path: string }[];
  /** Fills the database before the dispatcher starts; it is told the lanes, in the order of the subscriptions. */
  seed?: (client: Parameters<typeof seedSubscriptions>[0], lanes: number[]) => Promise<void>;
  environment?: ServiceOptions['environment'];
}

/** Runs the work beside a dispatcher with a database, topics and a receiver of its own. */
export async function dispatching<T>(
  bench: Bench,
  { subscriptions, seed, environment = {} }: DispatchingOptions,
  work: (dispatching: Dispatching) => Promise<T>,
): Promise<T> {
  const { stack, signal } = bench;
  signal.throwIfAborted();
  const receiver = await startReceiver(stack.ledger);
  try {
    const databaseUrl = await freshDatabase(stack, 'webhook-dispatcher');
    const topicPrefix = await freshTopics(stack);
    await withDatabase(databaseUrl, async (client) => {
      const seeded = await seedSubscriptions(
        client,
        subscriptions.map(({ types, path }) => ({ types, callbackUrl: `${receiver.urls[0]}${path}` })),
      );
      await seed?.(
        client,
        seeded.map(({ laneNo }) => laneNo),
      );
    });
    const dispatcher = await startDispatcher(bench, { databaseUrl, topicPrefix, environment });
    try {
      return await work({ dispatcher, receiver, databaseUrl, topicPrefix });
    } finally {
      await dispatcher.stop();
    }
  } finally {
    await receiver.close();
  }
}
