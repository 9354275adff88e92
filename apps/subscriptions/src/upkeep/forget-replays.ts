import type { PrismaClient } from '../generated/prisma/client.ts';

/** How long the account of a finished replay can be read. */
export const FORGET_AFTER_MS = 30 * 86_400_000;
const PORTION = 1_000;

const deleteDue = `
  delete from replay where replay_id in (
    select replay_id from replay
    where completed_at < $1::timestamptz order by completed_at limit ${PORTION} for update skip locked
  )`;

/** Removes, in portions, replays that were finished 30 days ago. Answers true when there may be more. */
export async function forgetReplays({ prisma }: { prisma: PrismaClient }, now: Date): Promise<boolean> {
  const dueBefore = new Date(now.getTime() - FORGET_AFTER_MS);
  return (await prisma.$executeRawUnsafe(deleteDue, dueBefore)) === PORTION;
}
