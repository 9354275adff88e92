import { expect, test } from '@jest/globals';
import { reconciliation } from '@assistance/types';
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

const idsOf = (received: { body: string }[]): string[] =>
  received.map(({ body }) => (JSON.parse(body) as { id: string }).id).sort();

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
  expect(idsOf(receiver.received)).toEqual([...kept.map(({ id }) => id), fresh].sort());
  const path = `/subscriptions/${subscriptionId}/reconciliation?since=${createdAt}`;
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
    return idsOf(receiver.received).filter((id) => ids.includes(id));
  };
  expect(ofSubject()).toEqual([head!.id]);

  expect(await keep(7)).toBeGreaterThanOrEqual(4);

  for (const { id } of behind) {
    await log.deliveriesWith(`subscriptionId=${subscriptionId}&eventId=${id}&status=delivered`, 1);
  }
  expect(ofSubject()).toEqual([head!, ...behind].map(({ id }) => id).sort());
  await receiver.close();
}, 60_000);

test('a replay of which days have expired sends the rest, counts them as expired, and completes', async () => {
  const receiver = await createReceiver();
  const expired = await putOldEvents(surroundings.prisma, 6, 10);
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

  expect(await keep(5)).toBeGreaterThanOrEqual(4);

  await change({ status: 'active', statusEpoch: 2 });
  const completed = await waitUntil(async () =>
    (await surroundings.reports()).find(
      (report) => report.data['replayId'] === replayId && report.data['status'] === 'completed',
    ),
  );
  expect(completed.data['progress']).toMatchObject({
    matched: Number(matched),
    expired: expired.length,
    delivered: Number(matched) - expired.length,
    pending: 0,
  });
  expect(idsOf(receiver.received)).toEqual(expect.arrayContaining(kept.map(({ id }) => id)));
  expect(idsOf(receiver.received)).toHaveLength(Number(matched) - expired.length);
  await receiver.close();
}, 60_000);
