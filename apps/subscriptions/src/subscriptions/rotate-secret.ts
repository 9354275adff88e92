import { ApiError, type Answer, type ApiRequest } from '@assistance/service-kit';
import type { SubscriptionWithSecret } from '@assistance/types';
import { generateSecret } from '@assistance/webhook-signature';
import type { Dependencies } from '../dependencies.ts';
import { lockSubscription } from './lock-subscription.ts';
import { recordOfRow } from './record-of-row.ts';
import { saveChange } from './save-change.ts';
import { addSecret, MAX_LIVE_SECRETS } from './signing-secrets.ts';
import { subscriptionOfRow } from './subscription-of-row.ts';

/** POST /subscriptions/{subscriptionId}/rotate-secret: a new secret, shown this once; the older ones sign beside it for a while. */
export async function rotateSecret(
  { caller, params }: ApiRequest,
  { prisma, keyRing, settings, wakeRelay }: Dependencies,
): Promise<Answer> {
  const signingSecret = generateSecret();
  const row = await prisma.$transaction(async (transaction) => {
    const current = await lockSubscription(transaction, params['subscriptionId'] ?? '', caller.owner);
    const now = new Date();
    const secrets = addSecret(
      recordOfRow(current).secrets,
      keyRing.seal(Buffer.from(signingSecret), current.subscriptionId),
      { now, overlapMs: settings.secretOverlapMs },
    );
    if (secrets === undefined) throw tooManySecrets();
    return saveChange(transaction, current, { secrets }, now);
  });
  wakeRelay();
  return {
    status: 200,
    body: { ...subscriptionOfRow(row), signingSecret } satisfies SubscriptionWithSecret,
    headers: { 'Cache-Control': 'no-store' },
  };
}

const tooManySecrets = (): ApiError =>
  new ApiError(
    'too_many_secrets',
    `${MAX_LIVE_SECRETS} secrets of this subscription are still signing. Wait until the oldest has run out.`,
  );
