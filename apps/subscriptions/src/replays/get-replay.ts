import type { Answer, ApiRequest } from '@assistance/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { findSubscription } from '../subscriptions/find-subscription.ts';
import { findReplay } from './find-replay.ts';
import { replayOfRow } from './replay-of-row.ts';

/** GET /subscriptions/{subscriptionId}/replays/{replayId} */
export async function getReplay({ caller, params }: ApiRequest, { prisma }: Dependencies): Promise<Answer> {
  const { subscriptionId } = await findSubscription(prisma, params['subscriptionId'] ?? '', caller.owner);
  const row = await findReplay(prisma, subscriptionId, params['replayId'] ?? '');
  return { status: 200, body: replayOfRow(row) };
}
