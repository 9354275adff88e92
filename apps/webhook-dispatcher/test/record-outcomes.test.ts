import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { migrate } from '@assistance/service-kit';
import { createTestDatabase, type TestDatabase } from '@assistance/test-kit';
import type { PrismaClient } from '../src/generated/prisma/client.ts';
import { seqOf } from '../src/log/event-log.ts';
import { makeDayPartitions } from '../src/log/day-partitions.ts';
import { Lane } from '../src/lanes/lane.ts';
import { releaseSubject } from '../src/lanes/release-subject.ts';
import { openDatabase } from '../src/open-database.ts';

let database: TestDatabase;
let prisma: PrismaClient;
const me = randomUUID();
const seq = seqOf(new Date());
const subject = 'doc_1';
let laneNo: bigint;

beforeAll(async () => {
  database = await createTestDatabase({
    template: 'webhook-dispatcher',
    migrate: (url) => migrate(url, join(import.meta.dirname, '..', 'prisma', 'migrations')),
  });
  prisma = openDatabase({ url: database.url, poolSize: 2 });
  await makeDayPartitions(prisma);
});

afterAll(async () => {
  await prisma?.$disconnect();
  await database?.drop();
});

beforeEach(async () => {
  await prisma.delivery.deleteMany();
  await prisma.unsettled.deleteMany();
  await prisma.logFloor.update({ where: { id: 1 }, data: { seq: 0 } });
  const lane = await prisma.lane.create({ data: { subscriptionId: randomUUID(), shard: 7, cursor: 0 } });
  laneNo = lane.laneNo;
  await lease({ owner: me, epoch: 3, untilMs: 10_000 });
});

async function lease({
  owner,
  epoch,
  untilMs,
}: {
  owner: string;
  epoch: number;
  untilMs: number;
}): Promise<void> {
  const until = new Date(Date.now() + untilMs);
  await prisma.shardLease.update({ where: { shard: 7 }, data: { owner, epoch: BigInt(epoch), until } });
}

/** Records one success of the lane as the owner of shard 7 with epoch 3 would. */
function recordDelivered(): Promise<number[]> {
  const outcome = { attempts: 1, attempted_at: new Date(), duration_ms: 4, response_status: 204 };
  return record([{ shard: 7, lane_no: Number(laneNo), seq, ...outcome }], []);
}

/** Records that these wait behind a delivery of their subject. */
function recordBlocked(...seqs: number[]): Promise<number[]> {
  const blocked = { shard: 7, lane_no: Number(laneNo), state: 'blocked', attempts: 0, counted: 0, subject };
  return record(
    [],
    seqs.map((each) => ({ ...blocked, seq: each })),
  );
}

async function record(delivered: unknown[], unsettled: unknown[]): Promise<number[]> {
  const lane = {
    shard: 7,
    lane_no: Number(laneNo),
    cursor: seq,
    judged: 'active',
    judged_epoch: 0,
    fail_count: 0,
    probe_count: 0,
    report_number: 0,
  };
  const [row] = await prisma.$queryRawUnsafe<{ held: number[] }[]>(
    'select record_outcomes($1::uuid, $2::json, $3::json, $4::json, $5::json, $6::json, $7::json, $8::json) as held',
    me,
    JSON.stringify([{ shard: 7, epoch: 3 }]),
    JSON.stringify(delivered),
    JSON.stringify(unsettled),
    '[]',
    '[]',
    JSON.stringify([lane]),
    '[]',
  );
  return row?.held ?? [];
}

const cursor = async (): Promise<number> =>
  Number((await prisma.lane.findUniqueOrThrow({ where: { laneNo } })).cursor);

test('the owner of a lease records, and the cursor moves', async () => {
  expect(await recordDelivered()).toEqual([7]);
  expect(await prisma.delivery.count()).toBe(1);
  expect(await cursor()).toBe(seq);
});

test.each([
  ['that has ended', { owner: me, epoch: 3, untilMs: -1 }],
  ['that another has taken over', { owner: randomUUID(), epoch: 4, untilMs: 10_000 }],
  ['that it lost and got again', { owner: me, epoch: 5, untilMs: 10_000 }],
])('with a lease %s nothing is written', async (_name, now) => {
  await lease(now);
  expect(await recordDelivered()).toEqual([]);
  expect(await prisma.delivery.count()).toBe(0);
  expect(await cursor()).toBe(0);
});

test('what is recorded twice, because the answer to its commit was lost, counts once', async () => {
  await recordDelivered();
  await recordDelivered();
  expect(await prisma.delivery.count()).toBe(1);
  expect(Number((await prisma.lane.findUniqueOrThrow({ where: { laneNo } })).delivered)).toBe(1);
});

test('of a delivery below the floor of the log nothing is recorded, and the lane goes on', async () => {
  await prisma.logFloor.update({ where: { id: 1 }, data: { seq: seq + 1 } });
  expect(await recordDelivered()).toEqual([7]);
  expect(await prisma.delivery.count()).toBe(0);
  expect(await cursor()).toBe(seq);
});

test('of what is blocked one is released, also when the answer to that or to the recording before was lost', async () => {
  const lane = new Lane({
    laneNo: Number(laneNo),
    replay: null,
    spans: [],
    cursor: 0,
    recordedBeyond: [],
  });
  const proof = { shard: 7, owner: me, epoch: 3n };
  const states = async (): Promise<string[]> =>
    (await prisma.unsettled.findMany({ orderBy: { seq: 'asc' } })).map(({ state }) => state);
  await recordBlocked(seq, seq + 1);
  expect(await releaseSubject(prisma, lane, subject, proof)).toBe(seq);
  await recordBlocked(seq, seq + 1);
  expect(await states()).toEqual(['retry', 'blocked']);
  expect(await releaseSubject(prisma, lane, subject, proof, true)).toBe(seq);
  expect(await states()).toEqual(['retry', 'blocked']);
});
