import { expect, test } from '@jest/globals';
import type { ReplayMode } from '@assistance/types';
import { newId } from '@assistance/service-kit';
import { waitUntil, type Receiver } from '@assistance/test-kit';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { createLogReader } from './read-log.ts';
import { runDispatcher, type Subscribed } from './start-dispatcher.ts';

// What fails is due again only long after these tests.
const { surroundings, dispatcher } = await runDispatcher({
  RETRY_BASE_MS: '3600000',
  FAILING_AFTER_MS: '3600000',
  RATE_LIMIT_PER_SECOND: '5000',
});
const log = createLogReader(surroundings, dispatcher);
const { prisma, publishEvents } = surroundings;

const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);

async function subscribe(fields: Partial<Subscribed['record']> = {}) {
  const receiver = await surroundings.receive();
  const subscribed = await surroundings.subscribe({ callbackUrl: receiver.url, ...fields });
  const { subscriptionId } = subscribed.record;
  await log.waitForVersion(subscriptionId, 1);
  return { ...subscribed, subscriptionId, receiver };
}

async function requestReplay(subscriptionId: string, mode: ReplayMode, since: Date): Promise<string> {
  const replayId = newId('rep');
  const requestedAt = new Date().toISOString();
  const asked = { subscriptionId, replayId, since: since.toISOString(), mode, requestedAt };
  await log.command('subscription.replay_requested', asked);
  return replayId;
}

const completion = (replayId: string) =>
  waitUntil(
    async () =>
      (await surroundings.reports())
        .map(({ data }) => data)
        .find((data) => data['replayId'] === replayId && data['status'] === 'completed')?.['progress'],
    { timeoutMs: 15_000, intervalMs: 200 },
  );

const idsOf = ({ received }: Receiver, replayId?: string): string[] =>
  received
    .filter(({ headers }) => headers['x-service-replay'] === replayId)
    .map(({ headers }) => String(headers['webhook-id']))
    .sort();

test('failed takes what waits for its next attempt as well, and leaves what was delivered', async () => {
  const { subscriptionId, receiver } = await subscribe();
  const good = await publishEvents(2);
  await receiver.waitForCount(2);
  receiver.respond(() => ({ status: 500 }));
  const failed = await publishEvents(3);
  const of = `subscriptionId=${subscriptionId}`;
  await log.deliveriesWith(`${of}&status=delivered`, 2);
  await waitUntil(async () => (await prisma.unsettled.count({ where: { state: 'retry' } })) === 3);
  receiver.respond(() => ({}));
  const replayId = await requestReplay(subscriptionId, 'failed', hoursAgo(1));
  expect(await completion(replayId)).toMatchObject({ matched: 3, delivered: 3, pending: 0 });
  expect(idsOf(receiver, replayId)).toEqual(failed.sort());
  const originals = (await log.list(of)).data.filter((each) => each.replayId === null);
  expect(originals.map(({ eventId, status }) => [eventId, status]).sort()).toEqual(
    [...good, ...failed].sort().map((id) => [id, 'delivered']),
  );
}, 30_000);

test('failed leaves what waits behind a failure of its subject to its own first attempt', async () => {
  const { subscriptionId, receiver, change } = await subscribe({ ordering: 'subject' });
  receiver.respond(() => ({ status: 500 }));
  await publishEvents(3, { subject: 'sour' });
  await waitUntil(async () => (await prisma.unsettled.count({ where: { state: 'blocked' } })) === 2);
  await change({ status: 'paused', statusEpoch: 2 });
  await log.waitForVersion(subscriptionId, 2);
  const replayId = await requestReplay(subscriptionId, 'failed', hoursAgo(1));
  const replay = () => prisma.lane.findUnique({ where: { replayId } });
  expect(await waitUntil(async () => (await replay())?.matched ?? undefined)).toBe(1n);
}, 30_000);

test('what a replay has delivered is not missing any more, and is sent by no second one', async () => {
  const since = new Date();
  const early = await publishEvents(4);
  await log.waitForEvents(early);
  const { subscriptionId, receiver } = await subscribe();
  const first = await requestReplay(subscriptionId, 'missing', since);
  expect(await completion(first)).toMatchObject({ matched: 4, delivered: 4 });
  const more = await requestReplay(subscriptionId, 'missing', since);
  expect(await completion(more)).toMatchObject({ matched: 0, delivered: 0 });
  expect(idsOf(receiver, first)).toEqual(early.sort());
  expect(receiver.received).toHaveLength(4);
  expect((await log.list(`subscriptionId=${subscriptionId}&replayId=${more}`)).data).toEqual([]);
}, 30_000);

test('what is taken while paused is buffered, and of two replays of the same both complete', async () => {
  const { subscriptionId, receiver, change } = await subscribe();
  receiver.respond(() => ({ status: 500 }));
  const ids = await publishEvents(200);
  await receiver.waitForCount(200);
  const { laneNo } = await prisma.lane.findFirstOrThrow({ where: { subscriptionId } });
  await waitUntil(async () => (await prisma.unsettled.count({ where: { laneNo } })) === 200);
  await change({ status: 'paused', statusEpoch: 2 });
  await log.waitForVersion(subscriptionId, 2);
  const replays = [
    await requestReplay(subscriptionId, 'failed', hoursAgo(1)),
    await requestReplay(subscriptionId, 'failed', hoursAgo(1)),
  ];
  await waitUntil(
    async () => (await prisma.lane.count({ where: { replayId: { in: replays }, matched: 200 } })) === 2,
  );
  expect(receiver.received).toHaveLength(200);

  receiver.respond(() => ({}));
  await change({ status: 'active', statusEpoch: 3 });
  const ends = (await Promise.all(replays.map(completion))) as { matched: number; delivered: number }[];
  for (const { matched, delivered } of ends) expect(matched).toBe(delivered);
  expect(ends.map(({ delivered }) => delivered)).toEqual(replays.map((each) => idsOf(receiver, each).length));
  expect([...new Set(replays.flatMap((each) => idsOf(receiver, each)))].sort()).toEqual(ids.sort());
}, 40_000);

test("since counts by the event's own time; what is ahead, or older than a week, by its arrival", async () => {
  const { subscriptionId, receiver } = await subscribe();
  const [before, within, ahead, ancient] = [
    ...(await publishEvents(1, { time: hoursAgo(2) })),
    ...(await publishEvents(1, { time: hoursAgo(0.5) })),
    ...(await publishEvents(1, { time: new Date('2100-01-01T00:00:00Z') })),
    ...(await publishEvents(1, { time: new Date('1970-01-01T00:00:00Z') })),
  ];
  await receiver.waitForCount(4);
  expect(idsOf(receiver)).toContain(before);
  const replayId = await requestReplay(subscriptionId, 'all', hoursAgo(1));
  await completion(replayId);
  expect(idsOf(receiver, replayId)).toEqual(
    expect.arrayContaining([within, ahead, ancient].map((id) => expect.stringMatching(id!))),
  );
  expect(idsOf(receiver, replayId)).not.toContain(before);
}, 30_000);

test('all takes what came before the subscription too, each with a signature of its own time', async () => {
  const since = new Date();
  const [early] = await publishEvents(1);
  await log.waitForEvents([early!]);
  const { subscriptionId, receiver, secret } = await subscribe();
  const [live] = await publishEvents(1);
  const first = await receiver.waitFor(({ headers }) => headers['webhook-id'] === live);
  const sentAt = Number(first.headers['webhook-timestamp']);
  await waitUntil(() => Date.now() >= (sentAt + 1) * 1_000);
  const replayId = await requestReplay(subscriptionId, 'all', since);
  await completion(replayId);
  expect(idsOf(receiver, replayId)).toEqual([early, live].sort());
  for (const { headers, body } of receiver.received) {
    new StandardWebhook(secret).verify(body, headers as Record<string, string>);
    if (headers['x-service-replay'] === replayId)
      expect(Number(headers['webhook-timestamp'])).toBeGreaterThan(sentAt);
  }
}, 30_000);

test('missing takes what came before a type was added, and leaves to it what waits for its first attempt', async () => {
  const { subscriptionId, receiver, change } = await subscribe({ eventTypes: [] });
  const since = new Date();
  const early = await publishEvents(2);
  await log.waitForEvents(early);
  const addedAt = new Date(Date.now() + 5_000).toISOString();
  await change({ status: 'paused', statusEpoch: 2, eventTypes: [{ type: 'document.available', addedAt }] });
  await log.waitForVersion(subscriptionId, 2);
  const waiting = await publishEvents(3);
  await log.waitForEvents(waiting);
  const replayId = await requestReplay(subscriptionId, 'missing', since);
  await change({ status: 'active', statusEpoch: 3 });
  expect(await completion(replayId)).toMatchObject({ matched: 2, delivered: 2 });
  await receiver.waitForCount(5);
  expect(idsOf(receiver, replayId)).toEqual(early.sort());
  expect(idsOf(receiver)).toEqual(waiting.sort());
}, 30_000);
