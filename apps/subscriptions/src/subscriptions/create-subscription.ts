import type { z } from 'zod';
import { ApiError, newId, type Answer, type ApiRequest } from '@assistance/service-kit';
import type { subscriptionCreation, SubscriptionWithSecret } from '@assistance/types';
import { generateSecret } from '@assistance/webhook-signature';
import type { Dependencies } from '../dependencies.ts';
import type { Transaction } from '../open-database.ts';
import { publishRecord } from '../publish.ts';
import { subscriptionOfRow } from './subscription-of-row.ts';

/** POST /subscriptions: active at once; its signing secret is shown this once. Sends nothing to the endpoint. */
export async function createSubscription(
  { caller, body }: ApiRequest<z.output<typeof subscriptionCreation>>,
  { prisma, keyRing, settings, wakeRelay }: Dependencies,
): Promise<Answer> {
  const subscriptionId = newId('sub');
  const signingSecret = generateSecret();
  const sealed = keyRing.seal(Buffer.from(signingSecret), subscriptionId);
  const row = await prisma.$transaction(async (transaction) => {
    const now = await takePlace(transaction, caller.owner, settings.maxSubscriptionsPerClient);
    const addedAt = now.toISOString();
    const created = await transaction.subscription.create({
      data: {
        subscriptionId,
        owner: caller.owner,
        wishedAt: now,
        eventTypes: body.eventTypes.map((type) => ({ type, addedAt })),
        callbackUrl: body.callbackUrl,
        ordering: body.ordering ?? 'none',
        secrets: [{ sealed, createdAt: addedAt, expiresAt: null }],
        createdAt: now,
        recordedAt: now,
      },
    });
    await publishRecord(transaction, created, now);
    return created;
  });
  wakeRelay();
  return {
    status: 201,
    body: { ...subscriptionOfRow(row), signingSecret } satisfies SubscriptionWithSecret,
    headers: { Location: `/events/v1/subscriptions/${subscriptionId}`, 'Cache-Control': 'no-store' },
  };
}

const takePlaceOfOwner = `
  insert into subscription_owner as o (owner, live) values ($1, 1)
  on conflict (owner) do update set live = o.live + 1 where o.live < $2::int
  returning clock_timestamp() as now`;

/**
 * Counts one more subscription of the owner, or throws 409. Holds the owner's row until the transaction ends, and answers
 * the database's time after that: creation times of one owner rise in the order of commits, whichever instance it asks.
 */
async function takePlace(transaction: Transaction, owner: string, limit: number): Promise<Date> {
  const [taken] = await transaction.$queryRawUnsafe<{ now: Date }[]>(takePlaceOfOwner, owner, limit);
  if (taken !== undefined) return taken.now;
  throw new ApiError(
    'subscription_limit_reached',
    `A client can have at most ${limit} subscriptions. Delete one that is no longer needed.`,
  );
}
