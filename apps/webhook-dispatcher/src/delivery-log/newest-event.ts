import type { Sql } from '@assistance/service-kit';
import { logFloor } from '../log/log-floor.ts';

/** Where the event with this id lies in the log; of two sources that use the same id the newest answers. */
export async function newestSeqOf(sql: Sql, webhookId: string): Promise<bigint | undefined> {
  const [row] = await sql.$queryRawUnsafe<{ seq: bigint | null }[]>(
    `select max(seq) as seq from (select seq from event where webhook_id = $1 and seq >= ${logFloor} offset 0) e`,
    webhookId,
  );
  return row?.seq ?? undefined;
}
