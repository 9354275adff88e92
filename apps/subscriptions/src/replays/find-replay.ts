import { isId, notFound } from '@assistance/service-kit';
import type { Replay as Row } from '../generated/prisma/client.ts';
import type { Transaction } from '../open-database.ts';

/** A replay of this subscription. Throws 404 when there is none. */
export async function findReplay(
  database: Pick<Transaction, 'replay'>,
  subscriptionId: string,
  replayId: string,
): Promise<Row> {
  const row = isId('rep', replayId) ? await database.replay.findUnique({ where: { replayId } }) : null;
  if (row === null || row.subscriptionId !== subscriptionId) throw notFound('replay');
  return row;
}
