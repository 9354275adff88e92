import type { KeyRing, Logger } from '@assistance/service-kit';
import type { SealedSecret } from '@assistance/types';
import type { PrismaClient, Subscription as Row } from '../generated/prisma/client.ts';
import type { Transaction } from '../open-database.ts';
import { publishRecord } from '../publish.ts';
import { recordOfRow } from '../subscriptions/record-of-row.ts';
import { saveChange } from '../subscriptions/save-change.ts';
import { liveSecrets } from '../subscriptions/signing-secrets.ts';

export const REPUBLISH_AFTER_MS = 3_600_000;
const PORTION = 100;

const lockDue = `
  update subscription set recorded_at = $2::timestamptz where subscription_id in (
    select subscription_id from subscription
    where recorded_at < $1::timestamptz order by recorded_at limit ${PORTION} for update skip locked
  ) returning subscription_id as "subscriptionId"`;

export interface Republishing {
  prisma: PrismaClient;
  keyRing: KeyRing;
  wakeRelay: () => void;
  log: Logger;
}

/**
 * Publishes again, in portions, the state of each subscription that was not published for an hour, so that a mirror that
 * missed or lost something is right again. Due rows are skipped while another instance has them, so each is published by
 * one. Answers true when there may be more.
 *
 * On the way, secrets that have run out are dropped, and those under an old key of the ring are sealed under the current
 * one: an hour after a rotation no record needs the old key.
 */
export async function republishSubscriptions(deps: Republishing, now: Date): Promise<boolean> {
  const { prisma, wakeRelay } = deps;
  const dueBefore = new Date(now.getTime() - REPUBLISH_AFTER_MS);
  const published = await prisma.$transaction(async (transaction) => {
    const due = await transaction.$queryRawUnsafe<{ subscriptionId: string }[]>(lockDue, dueBefore, now);
    const ids = due.map(({ subscriptionId }) => subscriptionId);
    const rows = await transaction.subscription.findMany({ where: { subscriptionId: { in: ids } } });
    for (const row of rows) await republish(transaction, row, deps, now);
    return rows.length;
  });
  if (published > 0) wakeRelay();
  return published === PORTION;
}

/** In a transaction that has locked the row. */
export async function republish(
  transaction: Transaction,
  row: Row,
  deps: Republishing,
  now: Date,
): Promise<void> {
  const known = recordOfRow(row).secrets;
  const secrets = liveSecrets(known, now).map((secret) => sealedAnew(secret, row.subscriptionId, deps));
  const unchanged = secrets.length === known.length && secrets.every((secret, i) => secret === known[i]);
  if (unchanged) await publishRecord(transaction, row, now);
  else await saveChange(transaction, row, { secrets }, now);
}

function sealedAnew(
  secret: SealedSecret,
  subscriptionId: string,
  { keyRing, log }: Republishing,
): SealedSecret {
  if (keyRing.keyIdOf(secret.sealed) === keyRing.currentKeyId) return secret;
  try {
    return { ...secret, sealed: keyRing.seal(keyRing.open(secret.sealed, subscriptionId), subscriptionId) };
  } catch (error) {
    // Told again each hour; the rest goes on. The key has to come back into the ring.
    log.error({ subscriptionId, err: error }, 'secret.not_openable');
    return secret;
  }
}
