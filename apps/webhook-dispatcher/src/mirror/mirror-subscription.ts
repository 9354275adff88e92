import { subscriptionRecord, type SubscriptionRecord } from '@assistance/types';
import { parseJson, shardOf, UnacceptableRecord, type ReceivedRecord } from '@assistance/service-kit';
import type { Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { askRefresh } from './ask-owner.ts';
import { followParkedCommands } from './follow-command.ts';
import { LANE_SHARDS } from './lane-shards.ts';
import { lockLogHead, seqOf } from '../log/event-log.ts';

/** How much before its creation a subscription's spans begin: two services' clocks may differ by as much. */
const CLOCK_DIFFERENCE_MS = 5_000;

/**
 * Keeps the dispatcher's mirror of subscriptions: their state, and the spans that say which events their lanes take.
 * Idempotent: a version that is not higher than the one known is passed over; with `again`, only a lower one is.
 */
export async function mirrorSubscriptions(
  prisma: PrismaClient,
  records: ReceivedRecord[],
  { again } = { again: false },
): Promise<void> {
  const known = await knownVersions(prisma, records);
  for (const record of records) {
    if (record.value === null) {
      await forgetSubscription(prisma, record.key ?? '');
      continue;
    }
    const parsed = subscriptionRecord.safeParse(parseJson(record));
    if (!parsed.success) throw new UnacceptableRecord('the record is not a subscription');
    if (parsed.data.version < leastVersion(known.get(parsed.data.subscriptionId), again)) continue;
    await prisma.$transaction((tx) => mirrorOne(tx, parsed.data, again), { timeout: 15_000 });
    known.set(parsed.data.subscriptionId, parsed.data.version);
  }
}

async function knownVersions(prisma: PrismaClient, records: ReceivedRecord[]): Promise<Map<string, number>> {
  const rows = await prisma.subscription.findMany({
    where: { subscriptionId: { in: records.flatMap(({ key }) => (key === null ? [] : [key])) } },
    select: { subscriptionId: true, version: true },
  });
  return new Map(rows.map(({ subscriptionId, version }) => [subscriptionId, version]));
}

async function mirrorOne(
  tx: Prisma.TransactionClient,
  record: SubscriptionRecord,
  again: boolean,
): Promise<void> {
  const head = await lockLogHead(tx);
  const before = await tx.subscription.findUnique({ where: { subscriptionId: record.subscriptionId } });
  if (record.version < leastVersion(before?.version, again)) return;
  await storeRecord(tx, record, before?.deletedAt ?? new Date());
  const live = await tx.lane.findFirst({ where: { subscriptionId: record.subscriptionId, replayId: null } });
  if (record.status === 'deleted') await closeLanes(tx, record.subscriptionId, head);
  else if (live === null) await openLane(tx, record);
  else await changeSpans(tx, live.laneNo, record, head);
  if (again) await mendReplays(tx, record);
  await followParkedCommands(tx, record, head);
  await askRefresh(tx, record.subscriptionId);
}

async function storeRecord(
  tx: Prisma.TransactionClient,
  record: SubscriptionRecord,
  deletedAt: Date,
): Promise<void> {
  const state = {
    owner: record.owner,
    version: record.version,
    status: record.status,
    statusEpoch: record.statusEpoch,
    callbackUrl: record.callbackUrl,
    ordering: record.ordering,
    secrets: record.secrets,
    createdAt: record.createdAt,
    deletedAt: record.status === 'deleted' ? deletedAt : null,
  };
  await tx.subscription.upsert({
    where: { subscriptionId: record.subscriptionId },
    create: { subscriptionId: record.subscriptionId, ...state },
    update: state,
  });
}

async function openLane(tx: Prisma.TransactionClient, record: SubscriptionRecord): Promise<void> {
  const spans = record.eventTypes.map(({ type, addedAt }) => ({ type, fromSeq: BigInt(firstSeq(addedAt)) }));
  const lane = await tx.lane.create({
    data: {
      subscriptionId: record.subscriptionId,
      shard: shardOf(record.subscriptionId, LANE_SHARDS),
      cursor: BigInt(firstSeq(record.createdAt) - 1),
      judgedEpoch: record.statusEpoch,
    },
  });
  await tx.span.createMany({ data: spans.map((span) => ({ laneNo: lane.laneNo, ...span })) });
}

async function changeSpans(
  tx: Prisma.TransactionClient,
  laneNo: bigint,
  record: SubscriptionRecord,
  head: number,
): Promise<void> {
  const spans = await tx.span.findMany({ where: { laneNo } });
  const wanted = new Map(record.eventTypes.map(({ type, addedAt }) => [type, addedAt]));
  for (const { type, fromSeq, toSeq } of spans) {
    if (toSeq !== null || wanted.has(type)) continue;
    await tx.span.update({
      where: { laneNo_type_fromSeq: { laneNo, type, fromSeq } },
      data: { toSeq: BigInt(head) },
    });
  }
  for (const [type, addedAt] of wanted) {
    const ofType = spans.filter((span) => span.type === type);
    if (ofType.some(({ toSeq }) => toSeq === null)) continue;
    const lastEnd = Math.max(0, ...ofType.map(({ toSeq }) => Number(toSeq)));
    const fromSeq = Math.max(firstSeq(addedAt), lastEnd + 1);
    await tx.span.create({ data: { laneNo, type, fromSeq: BigInt(fromSeq), joined: false } });
  }
}

/** Replays whose spans were lost: they are over what the log held when they were asked for. */
async function mendReplays(tx: Prisma.TransactionClient, record: SubscriptionRecord): Promise<void> {
  const { subscriptionId, eventTypes } = record;
  const replays = await tx.lane.findMany({
    where: { subscriptionId, state: 'open', replayId: { not: null } },
  });
  for (const { laneNo, replaySince, createdAt } of replays) {
    if ((await tx.span.count({ where: { laneNo } })) > 0) continue;
    const fromSeq = BigInt(seqOf(replaySince ?? createdAt));
    const asked = BigInt(seqOf(createdAt));
    const toSeq = asked > fromSeq ? asked : fromSeq;
    await tx.span.createMany({ data: eventTypes.map(({ type }) => ({ laneNo, type, fromSeq, toSeq })) });
  }
}

async function closeLanes(tx: Prisma.TransactionClient, subscriptionId: string, head: number): Promise<void> {
  const lanes = await tx.lane.findMany({ where: { subscriptionId }, select: { laneNo: true } });
  await tx.span.updateMany({
    where: { laneNo: { in: lanes.map(({ laneNo }) => laneNo) }, toSeq: null },
    data: { toSeq: BigInt(head) },
  });
  await tx.lane.updateMany({
    where: { subscriptionId, state: 'open' },
    data: { state: 'cancelled', endedAt: new Date() },
  });
}

/**
 * A tombstone comes when the log of a deleted subscription has run out. It is the last word about an id, also for a mirror
 * that was away so long that it missed the deletion itself.
 */
async function forgetSubscription(prisma: PrismaClient, subscriptionId: string): Promise<void> {
  await prisma.$transaction(async (tx) => {
    const { count } = await tx.subscription.deleteMany({ where: { subscriptionId } });
    if (count === 0) return;
    const lanes = await tx.lane.findMany({ where: { subscriptionId }, select: { laneNo: true } });
    await tx.span.deleteMany({ where: { laneNo: { in: lanes.map(({ laneNo }) => laneNo) } } });
    await tx.lane.deleteMany({ where: { subscriptionId } });
    await tx.tally.deleteMany({ where: { subscriptionId } });
    await askRefresh(tx, subscriptionId);
  });
}

const firstSeq = (time: string): number => seqOf(new Date(time).getTime() - CLOCK_DIFFERENCE_MS);

/** What a record must have to be taken, given the version that is known. */
const leastVersion = (known: number | undefined, again: boolean): number =>
  known === undefined ? 0 : known + (again ? 0 : 1);
