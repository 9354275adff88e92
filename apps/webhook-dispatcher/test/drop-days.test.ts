import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { createLogger, migrate, newId } from '@assistance/service-kit';
import { createTestDatabase, waitUntil, type TestDatabase } from '@assistance/test-kit';
import { countDeliveries } from '../src/delivery-log/count-deliveries.ts';
import type { PrismaClient } from '../src/generated/prisma/client.ts';
import { seqOf } from '../src/log/event-log.ts';
import { openDatabase } from '../src/open-database.ts';
import { dropDays } from '../src/retention/drop-days.ts';
import { expiresAt } from '../src/retention/expires-at.ts';
import { DAY_MS, dayOf, noonOf, putOldEvents, tablesOfDay } from './old-days.ts';

const log = createLogger({ service: 'test', level: 'silent' });
let database: TestDatabase;
let prisma: PrismaClient;
let client: pg.Client;

beforeEach(async () => {
  expired = [];
  database = await createTestDatabase({
    template: 'webhook-dispatcher',
    migrate: (url) => migrate(url, join(import.meta.dirname, '..', 'prisma', 'migrations')),
  });
  prisma = openDatabase({ url: database.url, poolSize: 2 });
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});

afterEach(async () => {
  await client?.end();
  await prisma?.$disconnect();
  await database?.drop();
});

let expired: number[];
const onExpired = (deliveries: number) => expired.push(deliveries);
const turn = (retentionDays = 7): Promise<number> =>
  dropDays({ databaseUrl: database.url, retentionDays, log, onExpired });

interface Lane {
  subscriptionId: string;
  laneNo: bigint;
}

/** A subscription that takes `document.available` since 30 days ago. */
async function subscribe(status: 'active' | 'deleted' = 'active', ordering = 'none'): Promise<Lane> {
  const subscriptionId = newId('sub');
  await prisma.subscription.create({
    data: {
      subscriptionId,
      owner: 'someone',
      version: 1,
      status,
      statusEpoch: 1,
      callbackUrl: 'https://example.org/',
      ordering,
      secrets: [],
      createdAt: noonOf(30),
    },
  });
  const { laneNo } = await prisma.lane.create({ data: { subscriptionId, shard: 7, cursor: 0 } });
  const fromSeq = BigInt(seqOf(noonOf(30)));
  await prisma.span.create({ data: { laneNo, type: 'document.available', fromSeq } });
  return { subscriptionId, laneNo };
}

async function recordDelivered({ laneNo }: Lane, events: { seq: number }[]): Promise<void> {
  await prisma.delivery.createMany({
    data: events.map(({ seq }) => ({
      laneNo,
      seq: BigInt(seq),
      attempts: 1,
      attemptedAt: new Date(),
      durationMs: 3,
      responseStatus: 204,
    })),
  });
}

async function recordUnsettled(
  { laneNo }: Lane,
  events: { seq: number; id: string }[],
  state: 'dead' | 'retry' | 'blocked',
): Promise<void> {
  await prisma.unsettled.createMany({
    data: events.map(({ seq, id }) => ({
      laneNo,
      seq: BigInt(seq),
      state,
      attempts: 3,
      counted: 3,
      subject: id,
    })),
  });
}

const count = (
  { subscriptionId, laneNo }: Lane,
  since: Date,
  status: 'active' | 'deleted' = 'active',
): ReturnType<typeof countDeliveries> =>
  countDeliveries(prisma, { subscriptionId, laneNo, status }, { since, until: new Date() });

test('a day older than the kept ones is tallied as it was counted before, and is gone', async () => {
  const lane = await subscribe();
  const gone = await subscribe('deleted');
  const events = await putOldEvents(prisma, 9, 20);
  await recordDelivered(lane, events.slice(0, 11));
  await recordUnsettled(lane, events.slice(11, 14), 'dead');
  await recordUnsettled(lane, events.slice(14, 16), 'retry');
  await recordDelivered(gone, events.slice(0, 5));
  const tests = await putOldEvents(prisma, 9, 2, { onlyLane: lane.laneNo });
  await recordDelivered(lane, tests);
  const since = new Date(Math.floor(noonOf(9).getTime() / DAY_MS) * DAY_MS);
  const before = await count(lane, since);
  const beforeGone = await count(gone, since, 'deleted');
  expect(before).toMatchObject({ matched: 20, delivered: 11, dead: 3, pending: 6, expired: 0 });

  expect(await turn()).toBe(4);

  expect(expired).toEqual([6]);
  expect(await tablesOfDay(prisma, 9)).toEqual([]);
  expect(await prisma.event.count()).toBe(0);
  expect(await prisma.tally.count()).toBe(2);
  const until = expect.any(Date);
  expect(await count(lane, since)).toEqual({ ...before, pending: 0, expired: 6, until });
  expect(await count(gone, since, 'deleted')).toEqual({ ...beforeGone, until });
  expect(beforeGone).toMatchObject({ matched: 20, delivered: 5, cancelled: 15 });
});

test('a day is kept until all of it is older than the kept days', async () => {
  await putOldEvents(prisma, 8, 1);
  await putOldEvents(prisma, 7, 1);
  expect(await turn()).toBe(4);
  expect(await tablesOfDay(prisma, 8)).toEqual([]);
  expect(await tablesOfDay(prisma, 7)).toHaveLength(4);
  expect(await prisma.event.count()).toBe(1);
  const end = expiresAt(noonOf(7), 7);
  const turnAt = (now: Date) =>
    dropDays({ databaseUrl: database.url, retentionDays: 7, log, onExpired, now });
  expect(await turnAt(new Date(end.getTime() - 1))).toBe(0);
  expect(await turnAt(end)).toBe(4);
  expect(await prisma.event.count()).toBe(0);
});

test('the reconciliation adds dropped days, whole, to kept ones', async () => {
  const lane = await subscribe();
  await recordDelivered(lane, await putOldEvents(prisma, 10, 4));
  await recordDelivered(lane, await putOldEvents(prisma, 9, 5));
  await putOldEvents(prisma, 9, 2);
  await recordDelivered(lane, await putOldEvents(prisma, 3, 6));
  await putOldEvents(prisma, 3, 1);
  expect(await turn()).toBe(8);
  expect(await count(lane, noonOf(30))).toMatchObject({
    matched: 18,
    delivered: 15,
    pending: 1,
    expired: 2,
    dead: 0,
    cancelled: 0,
  });
  const since = new Date(noonOf(9).getTime() + 3_600_000);
  const counts = await count(lane, since);
  expect(counts).toMatchObject({ matched: 14, delivered: 11, pending: 1, expired: 2 });
  expect(counts.since.toISOString()).toBe(`${dayOf(noonOf(9))}T00:00:00.000Z`);
});

test.each([
  ['before it was tallied', ''],
  ['after the tally', `select tally_day('DAY')`],
  [
    'when one table is detached and not dropped',
    `select tally_day('DAY'); alter table event detach partition event_SUFFIX`,
  ],
  [
    'when some are dropped',
    `select tally_day('DAY'); drop table event_SUFFIX, delivery_SUFFIX; alter table unsettled detach partition unsettled_SUFFIX`,
  ],
])('a turn that died %s is made good by the next', async (_name, done) => {
  const lane = await subscribe();
  await recordDelivered(lane, await putOldEvents(prisma, 9, 3));
  await putOldEvents(prisma, 9, 2);
  const day = dayOf(noonOf(9));
  await client.query(`select raise_log_floor(seq_of($1::date::timestamp at time zone 'UTC'))`, [
    dayOf(noonOf(7)),
  ]);
  await client.query(done.replaceAll('DAY', day).replaceAll('SUFFIX', day.replaceAll('-', '')));
  await turn();
  expect(await tablesOfDay(prisma, 9)).toEqual([]);
  expect(await count(lane, noonOf(30))).toMatchObject({ matched: 5, delivered: 3, expired: 2 });
});

test('a partition that is half detached is finished, and no reader is held up meanwhile', async () => {
  const lane = await subscribe();
  await putOldEvents(prisma, 9, 2);
  await putOldEvents(prisma, 1, 1);
  const suffix = dayOf(noonOf(9)).replaceAll('-', '');
  // A reader's transaction keeps the detaching from ending; it is given up there, as by a crash.
  const reader = new pg.Client({ connectionString: database.url });
  await reader.connect();
  await reader.query('begin; select count(*) from event');
  await client.query(`select raise_log_floor(seq_of($1::date::timestamp at time zone 'UTC'))`, [
    dayOf(noonOf(7)),
  ]);
  await client.query('select tally_day($1::date)', [dayOf(noonOf(9))]);
  await client.query(`set lock_timeout = '100ms'`);
  await expect(
    client.query(`alter table event detach partition event_${suffix} concurrently`),
  ).rejects.toMatchObject({ code: '55P03' });
  const isHalfDetached = async (): Promise<boolean> =>
    (await client.query('select 1 from pg_inherits where inhdetachpending')).rowCount === 1;
  expect(await isHalfDetached()).toBe(true);

  const next = turn();
  // It waits for the reader, aside: others read and record.
  await waitUntil(
    async () =>
      (
        await client.query(
          `select 1 from pg_stat_activity where application_name = 'webhook-dispatcher retention'
           and datname = current_database() and query like '%finalize%'`,
        )
      ).rowCount === 1,
  );
  expect(await count(lane, noonOf(30))).toMatchObject({ matched: 3, expired: 2, pending: 1 });
  await recordDelivered(lane, [{ seq: seqOf(noonOf(1)) }]);
  await reader.query('commit');
  await reader.end();
  expect(await next).toBe(4);
  expect(await tablesOfDay(prisma, 9)).toEqual([]);
});

test('of two turns at once one does the work, and nothing is counted twice', async () => {
  const lane = await subscribe();
  for (const daysAgo of [12, 11, 10, 9]) await putOldEvents(prisma, daysAgo, 3);
  const dropped = await Promise.all([turn(), turn(), turn()]);
  expect(dropped.sort()).toEqual([0, 0, 16]);
  expect(await count(lane, noonOf(30))).toMatchObject({ matched: 12, expired: 12 });
});

test('tallies are kept for 400 days', async () => {
  const { subscriptionId } = await subscribe();
  const counts = { matched: 1, delivered: 1, dead: 0, cancelled: 0, expired: 0 };
  for (const daysAgo of [399, 402]) {
    await prisma.tally.create({ data: { subscriptionId, day: new Date(dayOf(noonOf(daysAgo))), ...counts } });
  }
  await turn();
  expect((await prisma.tally.findMany()).map(({ day }) => dayOf(day))).toEqual([dayOf(noonOf(399))]);
});
