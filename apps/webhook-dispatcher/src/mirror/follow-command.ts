import {
  subscriptionCommands,
  testEventType,
  type SubscriptionCommandData,
  type SubscriptionRecord,
} from '@assistance/types';
import {
  cloudEventOf,
  readCloudEvent,
  shardOf,
  type MessageOf,
  type ReceivedRecord,
} from '@assistance/service-kit';
import type { Prisma, PrismaClient } from '../generated/prisma/client.ts';
import { appendToLog, lockLogHead, seqOf } from '../log/event-log.ts';
import { eventKeyOf } from '../log/read-event.ts';
import { askRefresh } from './ask-owner.ts';
import { LANE_SHARDS } from './lane-shards.ts';

type Command = MessageOf<typeof subscriptionCommands>;

/**
 * Follows what owners ask: a replay, its end, a test. A command that overtakes its subscription is parked until that is
 * known. Idempotent: a replay and a test event have ids of their own.
 */
export async function followCommands(prisma: PrismaClient, records: ReceivedRecord[]): Promise<void> {
  for (const record of records) {
    const command = readCloudEvent(record, subscriptionCommands);
    if (command !== undefined)
      await prisma.$transaction((tx) => followOrPark(tx, command), { timeout: 15_000 });
  }
}

async function followOrPark(tx: Prisma.TransactionClient, command: Command): Promise<void> {
  const head = await lockLogHead(tx);
  const { subscriptionId, version } = command.data;
  const subscription = await tx.subscription.findUnique({ where: { subscriptionId } });
  if (subscription === null || subscription.version < version) {
    await tx.parkedCommand.upsert({
      where: { commandId: command.id },
      create: { commandId: command.id, subscriptionId, type: command.type, data: command.data },
      update: {},
    });
  } else if (subscription.status !== 'deleted') {
    await follow(tx, command, head);
    await askRefresh(tx, subscriptionId);
  }
}

/** The subscription that parked commands waited for is known now. */
export async function followParkedCommands(
  tx: Prisma.TransactionClient,
  { subscriptionId, version, status }: SubscriptionRecord,
  head: number,
): Promise<void> {
  const parked = await tx.parkedCommand.findMany({ where: { subscriptionId }, orderBy: { parkedAt: 'asc' } });
  for (const { commandId, type, data } of parked) {
    const command = { id: commandId, type, data } as unknown as Command;
    if (command.data.version > version) continue;
    if (status !== 'deleted') await follow(tx, command, head);
    await tx.parkedCommand.delete({ where: { commandId } });
  }
}

async function follow(tx: Prisma.TransactionClient, command: Command, head: number): Promise<void> {
  switch (command.type) {
    case 'subscription.replay_requested':
      return openReplay(tx, command.data, head);
    case 'subscription.replay_cancelled':
      await tx.lane.updateMany({
        where: { replayId: command.data.replayId, state: 'open' },
        data: { state: 'cancelled', endedAt: new Date() },
      });
      return;
    case 'subscription.test_requested':
      return appendTest(tx, command.data);
  }
}

/** A replay is a lane of its own over what the log holds now, of all types of the subscription. */
async function openReplay(
  tx: Prisma.TransactionClient,
  { subscriptionId, replayId, since, mode }: SubscriptionCommandData<'subscription.replay_requested'>,
  head: number,
): Promise<void> {
  if ((await tx.lane.findUnique({ where: { replayId } })) !== null) return;
  const live = await tx.lane.findFirst({ where: { subscriptionId, replayId: null } });
  if (live === null) return;
  const open = await tx.span.findMany({ where: { laneNo: live.laneNo, toSeq: null } });
  // An event is never older than its arrival, so none of those asked for arrived before `since`.
  const fromSeq = seqOf(new Date(since));
  const lane = await tx.lane.create({
    data: {
      subscriptionId,
      shard: shardOf(subscriptionId, LANE_SHARDS),
      replayId,
      replayMode: mode,
      replaySince: since,
      cursor: BigInt(fromSeq - 1),
    },
  });
  await tx.span.createMany({
    data: open.map(({ type }) => ({
      laneNo: lane.laneNo,
      type,
      fromSeq: BigInt(fromSeq),
      toSeq: BigInt(Math.max(head, fromSeq)),
    })),
  });
}

async function appendTest(
  tx: Prisma.TransactionClient,
  { subscriptionId, eventId, requestedAt }: SubscriptionCommandData<'subscription.test_requested'>,
): Promise<void> {
  const live = await tx.lane.findFirst({ where: { subscriptionId, replayId: null } });
  if (live === null) return;
  const source = '/subscriptions';
  const event = cloudEventOf({
    id: eventId,
    source,
    type: testEventType,
    subject: subscriptionId,
    time: new Date(requestedAt),
    data: { subscriptionId, requestedAt },
  });
  await appendToLog(tx, [
    {
      type: testEventType,
      onlyLane: Number(live.laneNo),
      eventKey: eventKeyOf(source, eventId),
      webhookId: eventId,
      subject: subscriptionId,
      eventTime: new Date(requestedAt),
      body: Buffer.from(JSON.stringify(event)),
    },
  ]);
}
