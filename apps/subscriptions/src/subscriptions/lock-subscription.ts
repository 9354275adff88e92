import { isId, notFound } from '@assistance/service-kit';
import type { Subscription as Row } from '../generated/prisma/client.ts';
import type { Transaction } from '../open-database.ts';

const lockRow = `select 1 as locked from subscription where subscription_id = $1 for update`;

/**
 * The subscription, locked until the transaction ends, so that its changes and their outbox rows follow one another.
 * Throws 404 when it is unknown, deleted, or another's.
 */
export async function lockSubscription(
  transaction: Transaction,
  subscriptionId: string,
  owner: string,
): Promise<Row> {
  if (!isId('sub', subscriptionId)) throw notFound('subscription');
  await transaction.$queryRawUnsafe(lockRow, subscriptionId);
  const row = await transaction.subscription.findUnique({ where: { subscriptionId } });
  if (row === null || row.owner !== owner || row.deletedAt !== null) throw notFound('subscription');
  return row;
}
