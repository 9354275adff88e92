import { notFound, type Answer, type ApiRequest } from '@assistance/service-kit';
import { askRetry } from '../mirror/ask-owner.ts';
import { deliveryOf } from './delivery-of-row.ts';
import type { LogDependencies } from './dependencies.ts';
import { findOwnDelivery } from './find-delivery.ts';

/**
 * POST /deliveries/{deliveryId}/retry: one attempt now, whatever the status. It is asked of the owner of the shard, and
 * kept until it was made; 202 shows the delivery as it is before.
 */
export async function retryDelivery(request: ApiRequest, deps: LogDependencies): Promise<Answer> {
  const row = await findOwnDelivery(request, deps);
  if (row.subscriptionStatus === 'deleted') throw notFound('delivery');
  await askRetry(deps.sql, row.subscriptionId, Number(row.laneNo), Number(row.seq));
  return { status: 202, body: deliveryOf(row) };
}
