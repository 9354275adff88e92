import type { PrismaClient } from '../generated/prisma/client.ts';
import { publishTombstone } from '../publish.ts';

/** The delivery log of a deleted subscription can be read for 7 days; its record outlives that. */
export const BURY_AFTER_MS = 8 * 86_400_000;
const PORTION = 200;

const lockDue = `
  select subscription_id as "subscriptionId" from subscription
  where deleted_at < $1::timestamptz order by deleted_at limit ${PORTION} for update skip locked`;

/**
 * Removes, in portions, subscriptions that were deleted 8 days ago, with their replays, and writes their tombstones in the
 * same transaction. Answers true when there may be more.
 */
export async function burySubscriptions(
  { prisma, wakeRelay }: { prisma: PrismaClient; wakeRelay: () => void },
  now: Date,
): Promise<boolean> {
  const dueBefore = new Date(now.getTime() - BURY_AFTER_MS);
  const buried = await prisma.$transaction(async (transaction) => {
    const due = await transaction.$queryRawUnsafe<{ subscriptionId: string }[]>(lockDue, dueBefore);
    const ids = due.map(({ subscriptionId }) => subscriptionId);
    for (const id of ids) await publishTombstone(transaction, id, now);
    await transaction.subscription.deleteMany({ where: { subscriptionId: { in: ids } } });
    return ids.length;
  });
  if (buried > 0) wakeRelay();
  return buried === PORTION;
}
