import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { holdStatements, waitUntil, type Receiver } from '@assistance/test-kit';
import { createSurroundings, startDispatcher, type Dispatcher } from './start-dispatcher.ts';

const surroundings = await createSurroundings();
afterAll(() => surroundings.close());
let receiver: Receiver;

beforeEach(async () => {
  receiver = await surroundings.receive();
});

// A stop leaves nothing for the next test to wait for; a kill leaves leases, and members of Kafka's groups, for 10 s.
afterEach(() => Promise.all([...surroundings.running].map((dispatcher) => dispatcher.stop())));

const start = (): Promise<Dispatcher> => startDispatcher(surroundings);

/** How many shards each living owner holds. */
async function shares(): Promise<number[]> {
  const rows = await surroundings.prisma.$queryRawUnsafe<{ count: number }[]>(
    `select count(*)::int as count from shard_lease where until > clock_timestamp() group by owner order by 1`,
  );
  return rows.map(({ count }) => count);
}

const idsOf = (): string[] => receiver.received.map(({ headers }) => String(headers['webhook-id']));
const hasAll = (ids: string[]): boolean => {
  const received = new Set(idsOf());
  return ids.every((id) => received.has(id));
};
const doubled = (ids: string[]): number => {
  const wanted = new Set(ids);
  return idsOf().filter((id) => wanted.has(id)).length - wanted.size;
};

test('two instances share the shards, deliver nothing twice, and a stop hands over within 2 s', async () => {
  const first = await start();
  await waitUntil(async () => (await shares()).join() === '64');
  await start();
  await waitUntil(async () => (await shares()).join() === '32,32', { timeoutMs: 10_000 });
  for (let n = 0; n < 8; n++) await surroundings.subscribe({ callbackUrl: `${receiver.url}/${n}` });
  const before = await surroundings.publishEvents(100);
  await waitUntil(() => receiver.received.length >= 800, { timeoutMs: 15_000 });
  expect(doubled(before)).toBe(700);

  await first.stop();
  const stoppedAt = Date.now();
  const after = await surroundings.publishEvents(50);
  await waitUntil(async () => (await shares()).join() === '64', { timeoutMs: 2_000 });
  expect(Date.now() - stoppedAt).toBeLessThan(2_000);
  await waitUntil(() => hasAll(after) && doubled(after) >= 350, { timeoutMs: 15_000 });
  expect(doubled(after)).toBe(350);
}, 60_000);

test('after a kill the other takes over within 15 s, and every event arrives', async () => {
  const doomed = await start();
  await start();
  await waitUntil(async () => (await shares()).join() === '32,32', { timeoutMs: 10_000 });
  const lanes = 8;
  for (let n = 0; n < lanes; n++) await surroundings.subscribe({ callbackUrl: `${receiver.url}/${n}` });
  receiver.respond(() => ({ delayMs: 20 }));
  const ids = await surroundings.publishEvents(100);
  await receiver.waitForCount(200);
  await doomed.kill();
  const killedAt = Date.now();
  ids.push(...(await surroundings.publishEvents(20)));
  const arrived = () =>
    new Set(receiver.received.map(({ path, headers }) => `${path} ${String(headers['webhook-id'])}`));
  await waitUntil(() => arrived().size === lanes * ids.length, { timeoutMs: 30_000 });
  expect(Date.now() - killedAt).toBeLessThan(15_000);
  // At most what was in flight, or done and not yet recorded, comes again.
  expect(receiver.received.length - arrived().size).toBeLessThanOrEqual(lanes * (8 + 8));
}, 60_000);

test('a frozen instance that wakes after its lease records nothing and overwrites nothing', async () => {
  const frozen = await start();
  await waitUntil(async () => (await shares()).join() === '64');
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  receiver.respond(() => ({ delayMs: 300, status: 500 }));
  const [id] = await surroundings.publishEvents(1);
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === id);
  frozen.process.freeze();
  receiver.respond(() => ({ status: 204 }));
  await start();
  const laneNo = await waitUntil(
    async () => {
      const lane = await surroundings.prisma.lane.findFirstOrThrow({
        where: { subscriptionId: record.subscriptionId },
      });
      const delivered = await surroundings.prisma.delivery.count({ where: { laneNo: lane.laneNo } });
      return delivered === 1 ? lane.laneNo : undefined;
    },
    { timeoutMs: 30_000 },
  );
  const state = () =>
    Promise.all([
      surroundings.prisma.lane.findUniqueOrThrow({ where: { laneNo } }),
      surroundings.prisma.delivery.findMany({ where: { laneNo } }),
      surroundings.prisma.unsettled.findMany({ where: { laneNo } }),
      surroundings.prisma.attempt.findMany({ where: { laneNo } }),
    ]);
  const before = await state();
  frozen.process.thaw();
  // It has woken, found its leases lost, and taken its fair share of them anew.
  await waitUntil(async () => (await shares()).length === 2, { timeoutMs: 15_000 });
  expect(await state()).toEqual(before);
  const [next] = await surroundings.publishEvents(1);
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === next);
  expect(doubled([id!])).toBeLessThanOrEqual(1);
}, 60_000);

test('an instance that is frozen in the middle of a transaction does not hold up the other', async () => {
  const frozen = await start();
  await waitUntil(async () => (await shares()).join() === '64');
  const held = await holdStatements({
    databaseUrl: surroundings.database.url,
    table: 'subscription',
    on: 'insert',
  });
  await surroundings.subscribe({ callbackUrl: receiver.url });
  await held.reached();
  frozen.process.freeze();
  await held.release(); // the statement ends, and with it what bounds it; its transaction has the lock of the log's head
  await start();
  const ids = await surroundings.publishEvents(3);
  await waitUntil(() => hasAll(ids), { timeoutMs: 30_000 });
  frozen.process.thaw();
  await waitUntil(async () => (await shares()).join() === '32,32', { timeoutMs: 15_000 });
  expect(doubled(ids)).toBe(0);
}, 60_000);
