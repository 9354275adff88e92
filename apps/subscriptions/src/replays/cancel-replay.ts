import type { Answer, ApiRequest } from '@assistance/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { publishCommand } from '../publish.ts';
import { lockSubscription } from '../subscriptions/lock-subscription.ts';
import { findReplay } from './find-replay.ts';

const cancelUnfinished = `
  update replay
  set status = 'cancelled', completed_at = $2::timestamptz, cancelled = cancelled + pending, pending = 0
  where replay_id = $1 and status in ('pending', 'running')`;

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
    if ((await transaction.$executeRawUnsafe(cancelUnfinished, replayId, now)) === 0) return;
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
