import type { KeyRing } from '@assistance/service-kit';
import type { SealedSecret } from '@assistance/types';
import type { PrismaClient, Subscription as Row } from '../generated/prisma/client.ts';
import type { Transaction } from '../open-database.ts';
import { publishRecord } from '../publish.ts';
import { recordOfRow } from '../subscriptions/record-of-row.ts';
import { saveChange } from '../subscriptions/save-change.ts';
import { liveSecrets } from '../subscriptions/signing-secrets.ts';

export const REPUBLISH_AFTER_MS = 3_600_000;
const PORTION = 200;

const lockDue = `
  select subscription_id as "subscriptionId" from subscription
  where recorded_at < $1::timestamptz order by recorded_at limit ${PORTION} for update skip locked`;

export interface Republishing {
  prisma: PrismaClient;
  keyRing: KeyRing;
  wakeRelay: () => void;
}

/**
 * Publishes again, in portions, the state of each subscription that was not published for an hour, so that a mirror that
 * missed or lost something is right again. Due rows are skipped while another instance has them, so each is published by
 * one. Answers true when there may be more.
 *
 * Secrets that have run out are dropped on the way, and those under an old key of the ring are sealed under the current one.
 */
export async function republishSubscriptions(
  { prisma, keyRing, wakeRelay }: Republishing,
  now: Date,
): Promise<boolean> {
  const dueBefore = new Date(now.getTime() - REPUBLISH_AFTER_MS);
  const published = await prisma.$transaction(async (transaction) => {
    const due = await transaction.$queryRawUnsafe<{ subscriptionId: string }[]>(lockDue, dueBefore);
    const ids = due.map(({ subscriptionId }) => subscriptionId);
    const rows = await transaction.subscription.findMany({ where: { subscriptionId: { in: ids } } });
    for (const row of rows) await republish(transaction, keyRing, row, now);
    return rows.length;
  });
  if (published > 0) wakeRelay();
  return published === PORTION;
}

async function republish(transaction: Transaction, keyRing: KeyRing, row: Row, now: Date): Promise<void> {
  const { subscriptionId } = row;
  const known = recordOfRow(row).secrets;
  const secrets = liveSecrets(known, now).map((secret) => sealedAnew(secret, keyRing, subscriptionId));
  if (secrets.length !== known.length || secrets.some(({ sealed }, i) => sealed !== known[i]?.sealed)) {
    await saveChange(transaction, row, { secrets }, now);
    return;
  }
  await transaction.subscription.update({ where: { subscriptionId }, data: { recordedAt: now } });
  await publishRecord(transaction, row, now);
}

function sealedAnew(secret: SealedSecret, keyRing: KeyRing, subscriptionId: string): SealedSecret {
  if (keyRing.keyIdOf(secret.sealed) === keyRing.currentKeyId) return secret;
  return { ...secret, sealed: keyRing.seal(keyRing.open(secret.sealed, subscriptionId), subscriptionId) };
}
