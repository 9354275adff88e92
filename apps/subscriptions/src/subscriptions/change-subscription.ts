import type { z } from 'zod';
import type { Answer, ApiRequest } from '@assistance/service-kit';
import type { subscriptionChange } from '@assistance/types';
import type { Dependencies } from '../dependencies.ts';
import type { Subscription as Row } from '../generated/prisma/client.ts';
import { lockSubscription } from './lock-subscription.ts';
import { recordOfRow } from './record-of-row.ts';
import { saveChange, type Change } from './save-change.ts';
import { subscriptionOfRow } from './subscription-of-row.ts';

type Wanted = z.output<typeof subscriptionChange>;

/** PATCH /subscriptions/{subscriptionId}: what is named is set, the rest stays. */
export async function changeSubscription(
  { caller, params, body }: ApiRequest<Wanted>,
  { prisma, wakeRelay }: Dependencies,
): Promise<Answer> {
  const row = await prisma.$transaction(async (transaction) => {
    const current = await lockSubscription(transaction, params['subscriptionId'] ?? '', caller.owner);
    const now = new Date();
    return saveChange(transaction, current, changeOf(current, body, now), now);
  });
  wakeRelay();
  return { status: 200, body: subscriptionOfRow(row) };
}

function changeOf(current: Row, { eventTypes, callbackUrl, ordering, status }: Wanted, now: Date): Change {
  return {
    ...(eventTypes == null ? {} : { eventTypes: typesWithTimes(current, eventTypes, now) }),
    ...(callbackUrl == null ? {} : { callbackUrl }),
    ...(ordering == null ? {} : { ordering }),
    ...(status == null || status === current.wish ? {} : { wish: status, wishedAt: now }),
    raisesEpoch: callbackUrl != null || status != null,
  };
}

/** A type that stays keeps the time at which it was added; one that was removed and comes back gets a new one. */
function typesWithTimes(current: Row, wanted: string[], now: Date): { type: string; addedAt: string }[] {
  const known = new Map(recordOfRow(current).eventTypes.map(({ type, addedAt }) => [type, addedAt]));
  return wanted.map((type) => ({ type, addedAt: known.get(type) ?? now.toISOString() }));
}
