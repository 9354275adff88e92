import type { Answer, ApiRequest } from '@assistance/service-kit';
import type { Subscription } from '@assistance/types';
import type { Dependencies } from '../dependencies.ts';
import { subscriptionOfRow } from './subscription-of-row.ts';

/** GET /subscriptions: all of the caller's, newest first, as a bare array; bounded by the limit per client. */
export async function listSubscriptions({ caller }: ApiRequest, { prisma }: Dependencies): Promise<Answer> {
  const rows = await prisma.subscription.findMany({
    where: { owner: caller.owner, deletedAt: null },
    orderBy: [{ createdAt: 'desc' }, { subscriptionId: 'desc' }],
  });
  return { status: 200, body: rows.map(subscriptionOfRow) satisfies Subscription[] };
}
