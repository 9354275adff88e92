import type { BareLoopOptions } from '../load/bare-loop.ts';
import { forkLoad } from '../load/fork-load.ts';
import type { Receiver } from '../load/start-receiver.ts';
import type { Limit } from '../row.ts';
import type { Bench } from './bench.ts';

const quietPerSecond = 10_100;

/** The limit of deliveries: signed POSTs to the same receiver, with as many connections. */
export async function measureBareLoop(
  { stack }: Bench,
  receiver: Receiver,
  { posts, connections }: Omit<BareLoopOptions, 'url'>,
): Promise<Limit> {
  const load = forkLoad(stack.ledger, 'bare-loop.ts', { url: receiver.url, posts, connections });
  const perSecond = await load.heard<number>('perSecond');
  await load.close();
  return { what: 'bare signed POSTs', perSecond, quietPerSecond };
}
