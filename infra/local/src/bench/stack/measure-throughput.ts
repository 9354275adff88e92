import type { Topic } from '@assistance/types';
import { forkLoad } from '../load/fork-load.ts';
import { publishEvents } from '../load/publish-events.ts';
import type { Published, SteadyOptions } from '../load/publish-steadily.ts';
import { startReceiver, type Receiver } from '../load/start-receiver.ts';
import { median } from '../median.ts';
import type { Figure, Limit } from '../row.ts';
import type { Bench } from './bench.ts';
import { freshDatabase, withDatabase } from './fresh-database.ts';
import { freshTopics } from './fresh-topics.ts';
import { measureBareLoop } from './measure-bare-loop.ts';
import { seedSubscriptions } from './seed-subscriptions.ts';
import { shareProcessor } from './share-processor.ts';
import { startDispatcher } from './start-service.ts';

export interface Throughput {
  what: string;
  /** The event types of each subscription. */
  subscriptions: string[][];
  /** What is published, each type in turn; and how many events in all, before the dispatcher starts. */
  types: readonly string[];
  events: number;
  /** Topics that the dispatcher does not know of itself. */
  further?: Topic[];
  /** Published beside, while deliveries are counted. */
  producerPerSecond?: number;
  goal: NonNullable<Figure['goal']>;
}

interface Run {
  perSecond: number;
  limit: Limit;
  remark: string;
}

const preload = new URL('../load/more-event-types.ts', import.meta.url).href;

/** Deliveries a second, from the first reception to the last, against the bare loop just before; the median of three. */
export async function measureThroughput(bench: Bench, throughput: Throughput): Promise<Figure> {
  const measured: Run[] = [];
  const { runs } = bench;
  for (let run = 1; run <= runs; run += 1) {
    measured.push(await measureOnce(bench, throughput));
    const { perSecond, limit, remark } = measured.at(-1)!;
    bench.say(
      `  ${run} of ${runs}: ${Math.round(perSecond)}/s of ${Math.round(limit.perSecond)}/s = ${(perSecond / limit.perSecond).toFixed(2)}; ${remark}`,
    );
  }
  const ratios = measured.map(({ perSecond, limit }) => perSecond / limit.perSecond);
  const middle = measured[ratios.indexOf(median(ratios))]!;
  return {
    what: throughput.what,
    value: middle.perSecond,
    unit: '/s',
    limit: middle.limit,
    ratio: median(ratios),
    goal: throughput.goal,
    remarks: [`all: ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`, middle.remark],
  };
}

async function measureOnce(bench: Bench, throughput: Throughput): Promise<Run> {
  const { stack, signal } = bench;
  signal.throwIfAborted();
  const receiver = await startReceiver(stack.ledger, { hosts: throughput.subscriptions.length });
  try {
    const [topicPrefix, databaseUrl] = [
      await freshTopics(stack, throughput.further),
      await freshDatabase(stack, 'webhook-dispatcher'),
    ];
    await withDatabase(databaseUrl, (client) =>
      seedSubscriptions(
        client,
        throughput.subscriptions.map((types, index) => ({
          types,
          callbackUrl: `${receiver.urls[index]}/-/now`,
        })),
      ),
    );
    const { brokers } = stack;
    await publishEvents({ brokers, topicPrefix, types: throughput.types, count: throughput.events });
    const delivered = await deliverAll(bench, throughput, { receiver, topicPrefix, databaseUrl });
    const limit = await measureBareLoop(bench, receiver, {
      posts: delivered.count,
      connections: delivered.connections,
    });
    const bare = `bare loop ${Math.round(limit.processorMicros)}`;
    return { perSecond: delivered.perSecond, limit, remark: `${delivered.remark}; ${bare}` };
  } finally {
    await receiver.close();
  }
}

async function deliverAll(
  bench: Bench,
  throughput: Throughput,
  at: { receiver: Receiver; topicPrefix: string; databaseUrl: string },
): Promise<{ perSecond: number; count: number; connections: number; remark: string }> {
  const { brokers, ledger } = bench.stack;
  const { types, events, producerPerSecond } = throughput;
  const { receiver, topicPrefix, databaseUrl } = at;
  const perEvent = throughput.subscriptions.flat().length / types.length;
  const count = events * perEvent;
  const steady: SteadyOptions = {
    brokers,
    topicPrefix,
    types,
    perSecond: producerPerSecond ?? 0,
    noteTimes: false,
  };
  const producer =
    producerPerSecond === undefined ? undefined : forkLoad(ledger, 'publish-steadily.ts', steady);
  if (producer !== undefined) await producer.heard('started');
  const reached = receiver.expect(count);
  const dispatcher = await startDispatcher(bench, {
    databaseUrl,
    topicPrefix,
    nodeFlags: throughput.further === undefined ? [] : ['--import', preload],
  });
  const shareOf = shareProcessor(bench, { dispatcher: dispatcher.pid, receiver: receiver.pid });
  const { firstAt, lastAt, connections } = await reached;
  const remarks = [`${connections} connections`, shareOf(count)];
  if (producer !== undefined) {
    const published = producer.heard<Published>('published');
    producer.tell('stop');
    remarks.push(`producer at ${Math.round((await published).perSecond)}/s`);
    await producer.close();
  }
  await dispatcher.stop();
  if (producer === undefined) await checkRecorded(databaseUrl, count, (await receiver.state()).count);
  return { perSecond: (count / (lastAt - firstAt)) * 1000, count, connections, remark: remarks.join('; ') };
}

/** A figure of deliveries that were lost or made twice would be worth nothing. */
async function checkRecorded(databaseUrl: string, count: number, received: number): Promise<void> {
  const recorded = await withDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ count: number }>('select count(*)::int from delivery');
    return rows[0]?.count;
  });
  if (recorded !== count || received !== count)
    throw new Error(`${count} deliveries were due, ${received} were received and ${recorded} recorded.`);
}
