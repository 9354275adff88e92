import type { BareLoopOptions, BareLoopResult } from '../load/bare-loop.ts';
import { forkLoad } from '../load/fork-load.ts';
import { startReceiver, type Receiver } from '../load/start-receiver.ts';
import type { Limit } from '../row.ts';
import type { Bench } from './bench.ts';

const quietPerSecond = 10_100;

/** The limit of deliveries: signed POSTs to the same receiver, with as many connections. */
export async function measureBareLoop(
  { stack }: Bench,
  receiver: Receiver,
  { posts, connections }: Omit<BareLoopOptions, 'urls'>,
): Promise<Limit & BareLoopResult> {
  const load = forkLoad(stack.ledger, 'bare-loop.ts', { urls: receiver.urls, posts, connections });
  const result = await load.heard<BareLoopResult>('result');
  await load.close();
  return { what: 'bare signed POSTs', quietPerSecond, ...result };
}

/** What the machine can do just now, where a figure has no limit of its own. */
export async function measureMachine(bench: Bench): Promise<Limit> {
  const receiver = await startReceiver(bench.stack.ledger);
  try {
    const { what, perSecond } = await measureBareLoop(bench, receiver, { posts: 20_000, connections: 64 });
    return { what, perSecond, quietPerSecond };
  } finally {
    await receiver.close();
  }
}
