import type { Answer, ApiRequest } from '@assistance/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { lockSubscription } from './lock-subscription.ts';
import { saveChange } from './save-change.ts';

const givePlaceBack = `update subscription_owner set live = live - 1 where owner = $1`;

/**
 * DELETE /subscriptions/{subscriptionId}: 404 from here on, its unfinished replays are cancelled. The dispatcher learns of
 * it by a record with status `deleted`, which keeps the owner for the delivery log; the tombstone follows 8 days later.
 */
export async function deleteSubscription(
  { caller, params }: ApiRequest,
  { prisma, wakeRelay }: Dependencies,
): Promise<Answer> {
  await prisma.$transaction(async (transaction) => {
    const current = await lockSubscription(transaction, params['subscriptionId'] ?? '', caller.owner);
    const now = new Date();
    await saveChange(transaction, current, { deletedAt: now, secrets: [], raisesEpoch: true }, now);
    await transaction.replay.updateMany({
      where: { subscriptionId: current.subscriptionId, status: { in: ['pending', 'running'] } },
      data: { status: 'cancelled', completedAt: now },
    });
    await transaction.$executeRawUnsafe(givePlaceBack, caller.owner);
  });
  wakeRelay();
  return { status: 204 };
}
