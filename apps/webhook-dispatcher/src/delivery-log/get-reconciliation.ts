import { z } from 'zod';
import { dateTimeInput, type Reconciliation } from '@assistance/types';
import { ApiError, type Answer, type ApiRequest } from '@assistance/service-kit';
import { TALLY_KEPT_DAYS } from '../retention/drop-days.ts';
import { countDeliveries } from './count-deliveries.ts';
import type { LogDependencies } from './dependencies.ts';
import { findSubscription } from './find-subscription.ts';

export const reconciliationQuery = z.strictObject({
  since: dateTimeInput.optional(),
  until: dateTimeInput.optional(),
});

const DAY_MS = 86_400_000;

/**
 * GET /subscriptions/{subscriptionId}/reconciliation: what became of the events that arrived from `since` (by default as
 * far back as counts go, so that what expired shows) until before `until` (by default now). Of days that were dropped only
 * whole ones are known: the stretch that is answered for, and said in the answer, begins and ends with them.
 */
export async function getReconciliation(
  request: ApiRequest<undefined, z.output<typeof reconciliationQuery>>,
  deps: LogDependencies,
): Promise<Answer> {
  const { query, params } = request;
  const subscription = await findSubscription(request, deps, params['subscriptionId'] ?? '');
  const now = Date.now();
  const asked = {
    since: new Date(query.since ?? now - TALLY_KEPT_DAYS * DAY_MS),
    until: new Date(query.until ?? now),
  };
  if (asked.since > asked.until) throw beginsAfterItsEnd();
  const { since, until, ...counts } = await countDeliveries(deps.sql, subscription, asked);
  const body: Reconciliation = {
    subscriptionId: subscription.subscriptionId,
    since: since.toISOString(),
    until: until.toISOString(),
    ...counts,
  };
  return { status: 200, body };
}

const beginsAfterItsEnd = (): ApiError =>
  new ApiError('validation_error', 'The query is not as this operation needs it; see details.', {
    details: [{ parameter: 'since', code: 'after_until', message: 'must not be after until' }],
  });
