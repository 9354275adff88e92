import { Prisma, type Subscription as Row } from '../generated/prisma/client.ts';
import type { Transaction } from '../open-database.ts';
import { publishRecord } from '../publish.ts';

export interface Change extends Prisma.SubscriptionUpdateInput {
  /** The owner set `status` or `callbackUrl`: what the dispatcher judged before no longer counts. */
  raisesEpoch?: boolean;
}

/** Saves a change of a locked subscription under the next version, and tells it. */
export async function saveChange(
  transaction: Transaction,
  { subscriptionId }: Row,
  { raisesEpoch = false, ...changed }: Change,
  now: Date,
): Promise<Row> {
  const row = await transaction.subscription.update({
    where: { subscriptionId },
    data: {
      ...changed,
      ...(raisesEpoch ? { statusEpoch: { increment: 1 }, ...noJudgement } : {}),
      version: { increment: 1 },
      recordedAt: now,
    },
  });
  await publishRecord(transaction, row, now);
  return row;
}

const noJudgement = { judgedStatus: null, judgedReason: Prisma.DbNull, judgedNumber: 0 };
