import type { Republishing } from './republish-subscriptions.ts';
import { republish } from './republish-subscriptions.ts';

const PORTION = 100;

const lockOld = `
  select subscription_id as "subscriptionId" from subscription
  where subscription_id > $1
    and exists (select from jsonb_array_elements(secrets) s where split_part(s ->> 'sealed', '.', 1) <> $2)
  order by subscription_id limit ${PORTION} for update skip locked`;

/**
 * Walks all subscriptions once, in portions, and publishes those with a secret under another key of the ring with their
 * secrets sealed under the current one. Answers how many had such a secret. What another is just changing is passed over,
 * and what does not open stays: walk again until nothing is left. Can be broken off anywhere.
 */
export async function resealSecrets(deps: Republishing): Promise<number> {
  let found = 0;
  for (let after: string | undefined = ''; after !== undefined;) {
    const ids = await resealPortion(deps, after);
    found += ids.length;
    after = ids.length === PORTION ? ids.at(-1) : undefined;
  }
  if (found > 0) deps.wakeRelay();
  return found;
}

const resealPortion = (deps: Republishing, after: string): Promise<string[]> =>
  deps.prisma.$transaction(async (transaction) => {
    const due = await transaction.$queryRawUnsafe<{ subscriptionId: string }[]>(
      lockOld,
      after,
      deps.keyRing.currentKeyId,
    );
    const ids = due.map(({ subscriptionId }) => subscriptionId);
    const rows = await transaction.subscription.findMany({ where: { subscriptionId: { in: ids } } });
    for (const row of rows) await republish(transaction, row, deps, new Date());
    return ids;
  });
