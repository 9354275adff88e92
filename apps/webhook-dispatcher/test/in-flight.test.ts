import { expect, test } from '@jest/globals';
import { waitUntil } from '@assistance/test-kit';
import { runDispatcher } from './start-dispatcher.ts';

const MOST = 5;
const soon = { timeoutMs: 20_000 };
const { surroundings } = await runDispatcher({ MAX_IN_FLIGHT: String(MOST), LANE_CONCURRENCY: '4' });

test('an instance has no more in flight than it may, of all subscriptions together, and delivers all the same', async () => {
  const receiver = await surroundings.receive();
  const held: (() => void)[] = [];
  let inFlight = 0;
  let most = 0;
  receiver.respond(async () => {
    most = Math.max(most, ++inFlight);
    await new Promise<void>((resolve) => held.push(resolve));
    inFlight -= 1;
    return {};
  });
  for (const path of ['a', 'b', 'c'])
    await surroundings.subscribe({ callbackUrl: `${receiver.url}/${path}` });
  await waitUntil(async () => (await surroundings.prisma.lane.count()) === 3, soon);
  const ids = await surroundings.publishEvents(10);
  await waitUntil(() => inFlight === MOST, soon);
  // One by one: what ends makes room for one, whosever it is.
  await waitUntil(() => {
    held.shift()?.();
    return receiver.received.length === 3 * ids.length && inFlight === 0;
  }, soon);
  expect(most).toBe(MOST);
  const seen = receiver.received.map(({ path, headers }) => `${path} ${String(headers['webhook-id'])}`);
  expect(new Set(seen).size).toBe(3 * ids.length);
}, 60_000);
