import { z } from 'zod';
import type { Explanation } from '@assistance/types';
import type { Answer, ApiRequest } from '@assistance/service-kit';
import { deliveryId } from './delivery-of-row.ts';
import type { LogDependencies } from './dependencies.ts';
import { findSubscription } from './find-subscription.ts';
import { readSituation } from './read-situation.ts';
import { verdictOf } from './verdict-of.ts';

const name = z.string().regex(/^[^\0]{1,255}$/u, { error: 'must be 1 to 255 characters' });

export const explainQuery = z.strictObject({ subscriptionId: name, eventId: name });

/** GET /explain: why a subscription did, or did not, get an event. */
export async function explainDelivery(
  request: ApiRequest<undefined, z.output<typeof explainQuery>>,
  deps: LogDependencies,
): Promise<Answer> {
  const { eventId } = request.query;
  const subscription = await findSubscription(request, deps, request.query.subscriptionId);
  const situation = await readSituation(deps, subscription, eventId);
  const body: Explanation = {
    subscriptionId: subscription.subscriptionId,
    eventId,
    ...verdictOf(situation, { retentionDays: deps.retentionDays, now: new Date() }),
    deliveryId:
      situation.delivery === null ? null : deliveryId(situation.delivery.laneNo, situation.delivery.seq),
  };
  return { status: 200, body };
}
