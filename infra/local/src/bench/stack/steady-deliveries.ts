import { setTimeout as sleep } from 'node:timers/promises';
import { forkLoad } from '../load/fork-load.ts';
import type { Published, SteadyOptions } from '../load/publish-steadily.ts';
import type { Receiver } from '../load/start-receiver.ts';
import type { Bench } from './bench.ts';

export interface Steady {
  receiver: Receiver;
  topicPrefix: string;
  type: string;
  perSecond: number;
  seconds: number;
  /** Of the receiver: the subscriptions whose receptions count. */
  group: string;
  /** How many subscriptions that are. */
  subscriptions: number;
}

const warmUpSeconds = 4;
const drainMs = 20_000;

/** How long each event took from its producer to a receiver, in ms, at a steady pace, after a warm-up. */
export async function steadyDeliveries({ stack }: Bench, steady: Steady): Promise<number[]> {
  const { receiver, topicPrefix, type, perSecond, seconds, group, subscriptions } = steady;
  const options: SteadyOptions = {
    ...{ brokers: stack.brokers, topicPrefix, types: [type], perSecond, noteTimes: true },
  };
  const producer = forkLoad(stack.ledger, 'publish-steadily.ts', options);
  await producer.heard('started');
  await sleep((warmUpSeconds + seconds) * 1000);
  const heard = producer.heard<Published>('published');
  producer.tell('stop');
  const { sentAt, count } = await heard;
  await producer.close();
  const sent = new Map(Object.entries(sentAt));
  const from = Math.min(...sent.values()) + warmUpSeconds * 1000;
  const deadline = Date.now() + drainMs;
  for (;;) {
    const { receptions } = await receiver.state();
    const mine = (receptions[group] ?? []).filter(({ subject }) => sent.has(subject));
    if (mine.length >= count * subscriptions)
      return mine
        .filter(({ subject }) => sent.get(subject)! >= from)
        .map(({ subject, at }) => at - sent.get(subject)!);
    if (Date.now() > deadline)
      throw new Error(`Of ${count * subscriptions} deliveries ${mine.length} came within ${drainMs} ms.`);
    await sleep(200);
  }
}
