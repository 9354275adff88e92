import { isId, notFound } from '@assistance/service-kit';
import type { PrismaClient, Subscription as Row } from '../generated/prisma/client.ts';

/** The owner's subscription. Throws 404 when it is unknown, deleted, or another's. */
export async function findSubscription(
  prisma: PrismaClient,
  subscriptionId: string,
  owner: string,
): Promise<Row> {
  if (!isId('sub', subscriptionId)) throw notFound('subscription');
  const row = await prisma.subscription.findUnique({ where: { subscriptionId } });
  if (row === null || row.owner !== owner || row.deletedAt !== null) throw notFound('subscription');
  return row;
}
