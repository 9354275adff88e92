import { beforeEach, expect, test } from '@jest/globals';
import type { ReplayMode } from '@assistance/types';
import { waitUntil, type Receiver } from '@assistance/test-kit';
import { askRetry } from '../src/mirror/ask-owner.ts';
import { command, requestReplay as askForReplay } from './request-replay.ts';
import { runDispatcher, startDispatcher, type Subscribed } from './start-dispatcher.ts';

const environment = { RETRY_BASE_MS: '20', RETRY_MAX_ATTEMPTS: '1', FAILING_AFTER_MS: '3600000' };

const { surroundings, dispatcher } = await runDispatcher(environment);
let receiver: Receiver;

beforeEach(async () => {
  receiver = await surroundings.receive();
});

const requestReplay = (of: Subscribed, mode: ReplayMode, since?: Date): Promise<string> =>
  askForReplay(surroundings, of, mode, since);

const replayed = (replayId: string): string[] =>
  receiver.received
    .filter(({ headers }) => headers['x-service-replay'] === replayId)
    .map(({ headers }) => String(headers['webhook-id']));

/** The last report about a replay, once it says that it is completed. */
const completion = (replayId: string) =>
  waitUntil(
    async () => {
      const reports = (await surroundings.reports()).filter(({ data }) => data['replayId'] === replayId);
      return reports.findLast(({ data }) => data['status'] === 'completed')?.data;
    },
    { timeoutMs: 15_000, intervalMs: 300 },
  );

/** Events that only this test's subscription is told of: it begins with them. */
async function subscribeAndDeliver(
  count: number,
): Promise<{ subscribed: Subscribed; ids: string[]; since: Date }> {
  const subscribed = await surroundings.subscribe({ callbackUrl: receiver.url });
  const since = new Date();
  const ids = await surroundings.publishEvents(count);
  await receiver.waitForCount(count);
  return { subscribed, ids, since };
}

test('all: each event since then is delivered again, same id and body, marked as a replay; progress is told to the end', async () => {
  const { subscribed, ids, since } = await subscribeAndDeliver(30);
  const before = new Map(receiver.received.map(({ headers, body }) => [headers['webhook-id'], body]));
  const replayId = await requestReplay(subscribed, 'all', since);
  await waitUntil(() => replayed(replayId).length >= 30);
  expect(replayed(replayId).sort()).toEqual([...ids].sort());
  for (const { headers, body } of receiver.received) expect(body).toBe(before.get(headers['webhook-id']));
  expect((await completion(replayId))['progress']).toEqual({
    matched: 30,
    delivered: 30,
    pending: 0,
    dead: 0,
    cancelled: 0,
    expired: 0,
  });
}, 40_000);

test('failed: only what is dead or failed is sent, and its success settles the original', async () => {
  receiver.respond(({ body }) => ({ status: body.includes('"subject":"sour"') ? 500 : 204 }));
  const { subscribed, since } = await subscribeAndDeliver(5);
  const failed = await surroundings.publishEvents(3, { subject: 'sour' });
  const lane = await surroundings.prisma.lane.findFirstOrThrow({
    where: { subscriptionId: subscribed.record.subscriptionId },
  });
  const { laneNo } = lane;
  await waitUntil(
    async () => (await surroundings.prisma.unsettled.count({ where: { laneNo, state: 'dead' } })) === 3,
  );
  receiver.respond(() => ({ status: 204 }));
  const replayId = await requestReplay(subscribed, 'failed', since);
  expect((await completion(replayId))['progress']).toMatchObject({ matched: 3, delivered: 3, pending: 0 });
  expect(replayed(replayId).sort()).toEqual([...failed].sort());
  expect(await surroundings.prisma.unsettled.count({ where: { laneNo } })).toBe(0);
  expect(await surroundings.prisma.delivery.count({ where: { laneNo } })).toBe(8);
}, 40_000);

test('failed: what succeeded before the replay came to it is no longer its own, and the replay completes', async () => {
  receiver.respond(() => ({ status: 500 }));
  const { subscribed, since } = await subscribeAndDeliver(80);
  const { subscriptionId } = subscribed.record;
  const { laneNo } = await surroundings.prisma.lane.findFirstOrThrow({ where: { subscriptionId } });
  await waitUntil(
    async () => (await surroundings.prisma.unsettled.count({ where: { laneNo, state: 'dead' } })) === 80,
  );
  const last = await surroundings.prisma.unsettled.findFirstOrThrow({
    where: { laneNo },
    orderBy: { seq: 'desc' },
  });
  const held: (() => void)[] = [];
  receiver.respond(({ headers }) =>
    headers['x-service-replay'] === undefined ? {} : new Promise((resolve) => held.push(() => resolve({}))),
  );
  const replayId = await requestReplay(subscribed, 'failed', since);
  await waitUntil(async () => {
    const replay = await surroundings.prisma.lane.findUnique({ where: { replayId } });
    return Number(replay?.matched) === 80 && held.length > 0;
  });
  await askRetry(surroundings.prisma, subscriptionId, Number(laneNo), Number(last.seq));
  await waitUntil(async () => (await surroundings.prisma.delivery.count({ where: { laneNo } })) === 1);
  receiver.respond(() => ({}));
  for (const answer of held) answer();
  expect((await completion(replayId))['progress']).toMatchObject({ matched: 79, delivered: 79, pending: 0 });
  expect(replayed(replayId)).toHaveLength(79);
}, 40_000);

test('missing: what came before the subscription is sent, and nothing that was delivered', async () => {
  const since = new Date();
  const early = await surroundings.publishEvents(4);
  await waitUntil(
    async () => (await surroundings.prisma.event.count({ where: { webhookId: { in: early } } })) === 4,
  );
  const { subscribed, ids } = await subscribeAndDeliver(4);
  expect(receiver.received.map(({ headers }) => headers['webhook-id']).sort()).toEqual([...ids].sort());
  const replayId = await requestReplay(subscribed, 'missing', since);
  await completion(replayId);
  expect(replayed(replayId).sort()).toEqual([...early].sort());
}, 40_000);

test('a cancelled replay sends nothing more, and live deliveries go on', async () => {
  const { subscribed, since } = await subscribeAndDeliver(200);
  receiver.respond(({ headers }) => ({ delayMs: headers['x-service-replay'] === undefined ? 0 : 150 }));
  const replayId = await requestReplay(subscribed, 'all', since);
  await waitUntil(() => replayed(replayId).length >= 8);
  await command(surroundings, 'subscription.replay_cancelled', subscribed, { replayId });
  await waitUntil(async () => {
    const lane = await surroundings.prisma.lane.findUniqueOrThrow({ where: { replayId } });
    const asked = await surroundings.prisma.laneCommand.count({
      where: { subscriptionId: subscribed.record.subscriptionId },
    });
    return lane.state === 'cancelled' && asked === 0;
  });
  const atCancel = replayed(replayId).length;
  const [live] = await surroundings.publishEvents(1);
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === live);
  expect(replayed(replayId).length).toBeLessThanOrEqual(atCancel + 8);
  expect(replayed(replayId).length).toBeLessThan(200);
}, 40_000);

test('a command that overtakes its subscription is parked, and followed once that is known', async () => {
  const subscribed = await surroundings.subscribe({ callbackUrl: receiver.url });
  const since = new Date();
  const [id] = await surroundings.publishEvents(1);
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === id);
  const ahead = { ...subscribed, record: { ...subscribed.record, version: 2 } };
  const replayId = await requestReplay(ahead, 'all', since);
  await waitUntil(async () => (await surroundings.prisma.parkedCommand.count()) === 1);
  expect(replayed(replayId)).toEqual([]);
  await subscribed.change({});
  await waitUntil(() => replayed(replayId).includes(id!));
  expect(await surroundings.prisma.parkedCommand.count()).toBe(0);
}, 40_000);

test('a replay goes on after a kill, and completes with every event', async () => {
  const { subscribed, ids, since } = await subscribeAndDeliver(300);
  receiver.respond(() => ({ delayMs: 20 }));
  const replayId = await requestReplay(subscribed, 'all', since);
  await waitUntil(() => replayed(replayId).length >= 40);
  await dispatcher.kill();
  receiver.respond(() => ({}));
  await startDispatcher(surroundings, environment);
  await waitUntil(() => new Set(replayed(replayId)).size >= ids.length, { timeoutMs: 30_000 });
  expect((await completion(replayId))['progress']).toMatchObject({
    matched: 300,
    delivered: 300,
    pending: 0,
  });
  expect([...new Set(replayed(replayId))].sort()).toEqual([...ids].sort());
}, 80_000);
