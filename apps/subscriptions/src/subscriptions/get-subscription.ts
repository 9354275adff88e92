import type { Answer, ApiRequest } from '@assistance/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { findSubscription } from './find-subscription.ts';
import { subscriptionOfRow } from './subscription-of-row.ts';

/** GET /subscriptions/{subscriptionId} */
export async function getSubscription(
  { caller, params }: ApiRequest,
  { prisma }: Dependencies,
): Promise<Answer> {
  const row = await findSubscription(prisma, params['subscriptionId'] ?? '', caller.owner);
  return { status: 200, body: subscriptionOfRow(row) };
}
