import { expect, test } from '@jest/globals';
import { eventFeed, explanation, reconciliation, type DeliveryCounts } from '@assistance/types';
import { createLogger, newId } from '@assistance/service-kit';
import { createReceiver, waitUntil } from '@assistance/test-kit';
import { dropDays } from '../src/retention/drop-days.ts';
import { noonOf, putOldEvents, tablesOfDay } from './old-days.ts';
import { createLogReader } from './read-log.ts';
import { runDispatcher } from './start-dispatcher.ts';

const { surroundings, dispatcher } = await runDispatcher({
  RETENTION_DAYS: '30',
  RETRY_BASE_MS: '3600000',
  FAILING_AFTER_MS: '3600000',
  RATE_LIMIT_PER_SECOND: '5000',
});
const log = createLogReader(surroundings, dispatcher);

/** One turn of retention beside the running dispatcher, as if it were to keep so many days. */
const keep = (retentionDays: number): Promise<number> =>
  dropDays({
    databaseUrl: surroundings.database.url,
    retentionDays,
    log: createLogger({ service: 'test', level: 'silent' }),
  });

const createdAt = noonOf(29).toISOString();
const longAgo = { createdAt, eventTypes: [{ type: 'document.available' as const, addedAt: createdAt }] };

const idsReceived = (received: { body: string }[]): string[] =>
  idsOf(received.map(({ body }) => JSON.parse(body) as { id: string }));
const idsOf = (events: { id: string }[]): string[] => events.map(({ id }) => id).sort();

test('what has expired is counted and explained, and is no longer there one by one', async () => {
  const expired = await putOldEvents(surroundings.prisma, 28, 3);
  const { record, change } = await surroundings.subscribe({
    callbackUrl: 'http://127.0.0.1:9/',
    status: 'paused',
    ...longAgo,
  });
  const { subscriptionId } = record;
  await log.waitForVersion(subscriptionId, 1);
  const { data } = await log.list(`subscriptionId=${subscriptionId}&status=pending`);
  expect(data.map(({ eventId }) => eventId).sort()).toEqual(idsOf(expired));
  const counts = () => log.read(reconciliation, `/subscriptions/${subscriptionId}/reconciliation`);
  expect(await counts()).toMatchObject({ matched: 3, pending: 3, expired: 0 });

  expect(await keep(26)).toBe(4);

  expect(await counts()).toMatchObject({ matched: 3, pending: 0, expired: 3 });
  for (const { id: eventId } of expired) {
    const explained = await log.read(
      explanation,
      `/explain?subscriptionId=${subscriptionId}&eventId=${eventId}`,
    );
    expect(explained).toMatchObject({ verdict: 'event_expired', deliveryId: null });
    expect(explained.message).toContain(noonOf(28).toISOString());
  }
  for (const query of ['', '&status=expired', '&status=pending', `&eventId=${expired[0]!.id}`]) {
    expect((await log.list(`subscriptionId=${subscriptionId}${query}`)).data).toEqual([]);
  }
  for (const { deliveryId } of data) {
    expect((await log.call(`/deliveries/${deliveryId}`)).status).toBe(404);
    expect((await log.call(`/deliveries/${deliveryId}/retry`, { method: 'POST' })).status).toBe(404);
  }
  expect((await log.read(eventFeed, `/subscriptions/${subscriptionId}/events`)).data).toEqual([]);
  await change({ status: 'deleted' });
});

test('a paused lane with a backlog of which days have expired goes on with what is kept', async () => {
  const receiver = await createReceiver();
  const expired = await putOldEvents(surroundings.prisma, 25, 100);
  const kept = await putOldEvents(surroundings.prisma, 15, 100);
  const { record, change } = await surroundings.subscribe({
    callbackUrl: receiver.url,
    status: 'paused',
    ...longAgo,
  });
  const { subscriptionId } = record;
  await log.waitForVersion(subscriptionId, 1);
  const [oldest] = (await log.list(`subscriptionId=${subscriptionId}&eventId=${expired[0]!.id}`)).data;
  expect(oldest).toMatchObject({ status: 'pending' });

  expect(await keep(20)).toBe(4);

  expect(await tablesOfDay(surroundings.prisma, 25)).toEqual([]);
  expect((await log.list(`subscriptionId=${subscriptionId}&limit=200`)).data).toHaveLength(100);
  expect((await log.call(`/deliveries/${oldest!.deliveryId}`)).status).toBe(404);
  expect((await log.call(`/deliveries/${oldest!.deliveryId}/retry`, { method: 'POST' })).status).toBe(404);
  await change({ status: 'active', statusEpoch: 2 });
  await log.deliveriesWith(`subscriptionId=${subscriptionId}&status=delivered`, 100);
  const [fresh] = await surroundings.publishEvents(1);
  await log.deliveriesWith(`eventId=${fresh}&subscriptionId=${subscriptionId}&status=delivered`, 1);
  expect(idsReceived(receiver.received)).toEqual([...idsOf(kept), fresh].sort());
  const path = `/subscriptions/${subscriptionId}/reconciliation`;
  expect(await log.read(reconciliation, path)).toMatchObject({
    matched: 201,
    delivered: 101,
    expired: 100,
    pending: 0,
  });
  await change({ status: 'deleted' });
  await receiver.close();
}, 60_000);

test('what is kept and blocked behind an expired delivery of its subject is sent', async () => {
  const receiver = await createReceiver();
  receiver.respond((_request, number) => ({ status: number === 1 ? 500 : 200 }));
  const [head] = await putOldEvents(surroundings.prisma, 9, 1, { subject: 'one' });
  const behind = await putOldEvents(surroundings.prisma, 3, 2, { subject: 'one' });
  const { record } = await surroundings.subscribe({
    callbackUrl: receiver.url,
    ordering: 'subject',
    createdAt: noonOf(10).toISOString(),
    eventTypes: [{ type: 'document.available', addedAt: noonOf(10).toISOString() }],
  });
  const { subscriptionId } = record;
  await waitUntil(async () => {
    const rows = await surroundings.prisma.unsettled.groupBy({ by: ['state'], _count: true });
    return rows.find(({ state }) => state === 'blocked')?._count === 2;
  });
  const ofSubject = (): string[] => {
    const ids = [head!, ...behind].map(({ id }) => id);
    return idsReceived(receiver.received).filter((id) => ids.includes(id));
  };
  expect(ofSubject()).toEqual([head!.id]);

  expect(await keep(7)).toBeGreaterThanOrEqual(4);

  for (const { id } of behind) {
    await log.deliveriesWith(`subscriptionId=${subscriptionId}&eventId=${id}&status=delivered`, 1);
  }
  expect(ofSubject()).toEqual(idsOf([head!, ...behind]));
  await receiver.close();
}, 60_000);

test('a replay of which days have expired counts them as expired at once, sends the rest, and completes', async () => {
  const receiver = await createReceiver();
  const old = await putOldEvents(surroundings.prisma, 6, 10);
  const kept = await putOldEvents(surroundings.prisma, 4, 10);
  const { record, change } = await surroundings.subscribe({ callbackUrl: receiver.url, status: 'paused' });
  const { subscriptionId } = record;
  await log.waitForVersion(subscriptionId, 1);
  const replayId = newId('rep');
  const requestedAt = new Date().toISOString();
  const since = noonOf(6.5).toISOString();
  const asked = { subscriptionId, replayId, since, mode: 'all', requestedAt };
  await log.command('subscription.replay_requested', asked);
  const matched = await waitUntil(
    async () => (await surroundings.prisma.lane.findUnique({ where: { replayId } }))?.matched,
  );
  const { laneNo } = await surroundings.prisma.lane.update({ where: { replayId }, data: { delivered: 4 } });
  const delivered = { laneNo, attempts: 1, attemptedAt: new Date(), durationMs: 3, responseStatus: 204 };
  await surroundings.prisma.delivery.createMany({
    data: old.slice(0, 4).map(({ seq }) => ({ ...delivered, seq: BigInt(seq) })),
  });

  expect(await keep(5)).toBeGreaterThanOrEqual(4);

  const reported = (is: (data: { status?: string; progress?: DeliveryCounts }) => boolean) =>
    waitUntil(async () =>
      (await surroundings.reports()).find(({ data }) => data['replayId'] === replayId && is(data)),
    );
  const all = Number(matched);
  const whilePaused = await reported(({ progress }) => (progress?.expired ?? 0) > 0);
  expect(whilePaused.data).toMatchObject({
    status: 'running',
    progress: { matched: all, delivered: 4, expired: 6, pending: all - 10 },
  });
  await change({ status: 'active', statusEpoch: 2 });
  const completed = await reported(({ status }) => status === 'completed');
  const progress = { matched: all, delivered: all - 6, expired: 6, pending: 0 };
  expect(completed.data['progress']).toMatchObject(progress);
  expect(idsReceived(receiver.received)).toEqual(expect.arrayContaining(idsOf(kept)));
  expect(idsReceived(receiver.received)).toHaveLength(all - 10);
  await receiver.close();
}, 60_000);
