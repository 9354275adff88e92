import type { Answer, ApiRequest } from '@assistance/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { publishCommand } from '../publish.ts';
import { lockSubscription } from '../subscriptions/lock-subscription.ts';
import { findReplay } from './find-replay.ts';

/**
 * DELETE /subscriptions/{subscriptionId}/replays/{replayId}: what this replay has not yet sent is not sent. Does nothing to
 * a finished one.
 */
export async function cancelReplay(
  { caller, params }: ApiRequest,
  { prisma, wakeRelay }: Dependencies,
): Promise<Answer> {
  await prisma.$transaction(async (transaction) => {
    const { subscriptionId, version } = await lockSubscription(
      transaction,
      params['subscriptionId'] ?? '',
      caller.owner,
    );
    const { replayId } = await findReplay(transaction, subscriptionId, params['replayId'] ?? '');
    const now = new Date();
    const { count } = await transaction.replay.updateMany({
      where: { replayId, status: { in: ['pending', 'running'] } },
      data: { status: 'cancelled', completedAt: now },
    });
    if (count === 0) return;
    await publishCommand(
      transaction,
      'subscription.replay_cancelled',
      { subscriptionId, version, replayId },
      now,
    );
  });
  wakeRelay();
  return { status: 204 };
}
