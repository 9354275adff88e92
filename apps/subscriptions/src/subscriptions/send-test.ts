import { newId, type Answer, type ApiRequest } from '@assistance/service-kit';
import type { Dependencies } from '../dependencies.ts';
import { publishCommand } from '../publish.ts';
import { lockSubscription } from './lock-subscription.ts';

/** POST /subscriptions/{subscriptionId}/test: asks for an event `subscription.test` to this subscription alone. */
export async function sendTest(
  { caller, params }: ApiRequest,
  { prisma, wakeRelay }: Dependencies,
): Promise<Answer> {
  const eventId = newId('evt');
  await prisma.$transaction(async (transaction) => {
    const { subscriptionId, version } = await lockSubscription(
      transaction,
      params['subscriptionId'] ?? '',
      caller.owner,
    );
    const now = new Date();
    const requestedAt = now.toISOString();
    await publishCommand(
      transaction,
      'subscription.test_requested',
      { subscriptionId, version, eventId, requestedAt },
      now,
    );
  });
  wakeRelay();
  return { status: 202, body: { eventId } };
}
