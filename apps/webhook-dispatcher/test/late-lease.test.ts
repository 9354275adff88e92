import { beforeEach, expect, test } from '@jest/globals';
import { shardOf } from '@assistance/service-kit';
import { holdStatements, waitUntil, type Hold, type Receiver } from '@assistance/test-kit';
import { LANE_SHARDS } from '../src/mirror/lane-shards.ts';
import { runDispatcher } from './start-dispatcher.ts';

// An instance sends nothing in the last second of a lease. Here its renewal comes in that second, just before the end.

const { surroundings } = await runDispatcher();
const { database, prisma, publishEvents } = surroundings;
let receiver: Receiver;
let laneNo: bigint;
let renewals: Hold;
/** Resolves so long before the lease would end. */
let beforeItsEnd: (ms: number) => Promise<unknown>;

const hold = (table: string, on: 'insert' | 'update') =>
  holdStatements({ databaseUrl: database.url, table, on });

beforeEach(async () => {
  receiver = await surroundings.receive();
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const { subscriptionId } = record;
  ({ laneNo } = await waitUntil(() => prisma.lane.findFirst({ where: { subscriptionId } })));
  const [id] = await publishEvents(1);
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === id);
  renewals = await hold('shard_lease', 'update');
  await renewals.reached();
  const shard = shardOf(subscriptionId, LANE_SHARDS);
  const { until } = await prisma.shardLease.findUniqueOrThrow({ where: { shard } });
  beforeItsEnd = (ms) => new Promise((resolve) => setTimeout(resolve, until!.getTime() - ms - Date.now()));
}, 30_000);

test('an event that comes while a lease is late in being renewed is delivered when it is', async () => {
  await beforeItsEnd(800);
  const [id] = await publishEvents(1);
  await beforeItsEnd(300);
  await renewals.release();
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === id);
}, 40_000);

test('what cannot be recorded meanwhile either is sent again and recorded when it is', async () => {
  const recordings = await hold('delivery', 'insert');
  // A statement waits for 5 s: so this one is given up in the last second of the lease.
  await beforeItsEnd(5_650);
  const [id] = await publishEvents(1);
  await recordings.reached();
  await beforeItsEnd(300);
  await Promise.all([recordings.release(), renewals.release()]);
  await waitUntil(async () => (await prisma.delivery.count({ where: { laneNo } })) === 2, {
    timeoutMs: 20_000,
  });
  expect(receiver.received.filter(({ headers }) => headers['webhook-id'] === id)).toHaveLength(2);
}, 40_000);
