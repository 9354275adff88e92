import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { newId, shardOf } from '@assistance/service-kit';
import { holdStatements, waitUntil } from '@assistance/test-kit';
import { LANE_SHARDS } from '../src/mirror/lane-shards.ts';
import { createSurroundings, startDispatcher } from './start-dispatcher.ts';

const surroundings = await createSurroundings();
afterAll(() => surroundings.close(), 30_000);
const { prisma } = surroundings;

/** As it is recorded when what others wait for is delivered, and the next is not yet released. */
async function deliverHead(): Promise<void> {
  const { laneNo, seq } = await prisma.unsettled.findFirstOrThrow({ where: { state: 'retry' } });
  const attempt = { attempts: 2, attemptedAt: new Date(), durationMs: 1, responseStatus: 204 };
  await prisma.unsettled.delete({ where: { laneNo_seq: { laneNo, seq } } });
  await prisma.delivery.create({ data: { laneNo, seq, ...attempt } });
}

test('an event that arrives while a lane is being loaded does not overtake what waits before it', async () => {
  const [witness, receiver] = await Promise.all([surroundings.receive(), surroundings.receive()]);
  await surroundings.subscribe({ callbackUrl: witness.url });
  const first = await startDispatcher(surroundings, { RETRY_BASE_MS: '60000' });
  await waitUntil(async () => (await prisma.lane.count()) === 1);
  await surroundings.subscribe({ callbackUrl: receiver.url, ordering: 'subject' });
  await waitUntil(async () => (await prisma.lane.count()) === 2);

  receiver.respond(() => ({ status: 500 }));
  const subject = newId('doc');
  const [head, ...behind] = await surroundings.publishEvents(3, { subject });
  await waitUntil(async () => (await prisma.unsettled.count()) === 3);
  await first.kill();
  // The head was delivered, and its dispatcher killed before it could let the next one go.
  await deliverHead();
  await prisma.shardMember.deleteMany();
  await prisma.shardLease.updateMany({ data: { until: null } });
  receiver.respond(() => ({}));

  const hold = await holdStatements({
    databaseUrl: surroundings.database.url,
    table: 'unsettled',
    on: 'update',
  });
  await startDispatcher(surroundings);
  await hold.reached();
  const [next] = await surroundings.publishEvents(1, { subject });
  await witness.waitFor(({ headers }) => headers['webhook-id'] === next);
  await hold.release();
  await receiver.waitForCount(4);
  const received = receiver.received.map(({ headers }) => headers['webhook-id']);
  expect(received).toEqual([head, ...behind, next]);
}, 60_000);

test('an instance that has lost a shard and does not know it lets no event overtake what it finds blocked', async () => {
  const receiver = await surroundings.receive();
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url, ordering: 'subject' });
  const lane = await waitUntil(() =>
    prisma.lane.findFirst({ where: { subscriptionId: record.subscriptionId } }),
  );
  const { laneNo } = lane;
  receiver.respond(({ body }) => ({ status: body.includes(subject) ? 500 : 204 }));
  const subject = newId('doc');
  const [head, ...behind] = await surroundings.publishEvents(3, { subject });
  await waitUntil(async () => (await prisma.unsettled.count({ where: { laneNo } })) === 3);
  // Another has taken the shard over, has delivered the head, and is about to release the next.
  const shard = shardOf(record.subscriptionId, LANE_SHARDS);
  await prisma.shardLease.update({
    where: { shard },
    data: { owner: randomUUID(), epoch: { increment: 1 }, until: new Date(Date.now() + 3_000) },
  });
  await deliverHead();
  receiver.respond(() => ({}));
  // What comes of the first is refused, and the lanes of the shard are loaded anew.
  await surroundings.publishEvents(1);
  const [next] = await surroundings.publishEvents(1, { subject });
  await waitUntil(() => received().includes(next!), { timeoutMs: 20_000 });
  expect(received()).toEqual([head, ...behind, next]);

  function received(): string[] {
    const ids = receiver.received
      .filter(({ body }) => body.includes(subject))
      .map(({ headers }) => String(headers['webhook-id']));
    return [...new Set(ids)];
  }
}, 60_000);
