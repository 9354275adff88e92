import type { z } from 'zod';
import { ApiError, newId, type Answer, type ApiRequest } from '@assistance/service-kit';
import type { replayRequest } from '@assistance/types';
import type { Dependencies } from '../dependencies.ts';
import { publishCommand } from '../publish.ts';
import { lockSubscription } from '../subscriptions/lock-subscription.ts';
import { replayOfRow } from './replay-of-row.ts';
import { replaySince } from './replay-since.ts';

const MAX_UNFINISHED = 3;

/** POST /subscriptions/{subscriptionId}/replay: 202, the replay as a resource; the dispatcher carries it out. */
export async function requestReplay(
  { caller, params, body }: ApiRequest<z.output<typeof replayRequest>>,
  { prisma, wakeRelay }: Dependencies,
): Promise<Answer> {
  const row = await prisma.$transaction(async (transaction) => {
    const { subscriptionId, version } = await lockSubscription(
      transaction,
      params['subscriptionId'] ?? '',
      caller.owner,
    );
    const unfinished = await transaction.replay.count({
      where: { subscriptionId, status: { in: ['pending', 'running'] } },
    });
    if (unfinished >= MAX_UNFINISHED) throw tooManyReplays();
    const now = new Date();
    const replay = await transaction.replay.create({
      data: {
        replayId: newId('rep'),
        subscriptionId,
        since: replaySince(body.since, now) ?? now,
        mode: body.mode ?? 'all',
        requestedAt: now,
      },
    });
    const { replayId, since, mode, requestedAt } = replayOfRow(replay);
    await publishCommand(
      transaction,
      'subscription.replay_requested',
      { subscriptionId, version, replayId, since, mode, requestedAt },
      now,
    );
    return replay;
  });
  wakeRelay();
  const { subscriptionId, replayId } = row;
  return {
    status: 202,
    body: replayOfRow(row),
    headers: { Location: `/events/v1/subscriptions/${subscriptionId}/replays/${replayId}` },
  };
}

const tooManyReplays = (): ApiError =>
  new ApiError(
    'too_many_replays',
    `${MAX_UNFINISHED} replays of this subscription are not finished. Wait for one, or cancel one.`,
  );
