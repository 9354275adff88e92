import type { Sql } from '@assistance/service-kit';

/** The end of the audit at one moment, and who was writing to it then. */
export interface AuditEnd {
  newestId: bigint;
  /** Transactions that had begun to write to the audit and had not ended. */
  writers: string[];
}

export interface SeenAudit extends AuditEnd {
  sealedId: bigint;
  seal: Uint8Array | null;
  /** The age of the oldest row without a seal; 0 when there is none. */
  unsealedSeconds: number;
}

/**
 * Ids are given out in one order and committed in another, so below a committed row there may be one that is still to
 * come. Whoever has an id has had the table's lock since before, and keeps it until its row can be seen or never will be.
 * So once all that held the lock after `newestId` was read have let go of it, nothing more comes at or below `newestId`.
 */
export async function seeAudit(sql: Sql): Promise<SeenAudit> {
  const [seen] = await sql.$queryRawUnsafe<SeenAudit[]>(statement);
  if (seen === undefined) throw new Error('the look at the audit answered no row');
  return seen;
}

/** The id up to which all is settled by now, given an earlier look; undefined when those that wrote then still do. */
export function settledId(earlier: AuditEnd | undefined, seen: AuditEnd): bigint | undefined {
  if (seen.writers.length === 0) return seen.newestId;
  if (earlier === undefined || earlier.writers.some((writer) => seen.writers.includes(writer)))
    return undefined;
  return earlier.newestId;
}

// The statement's snapshot, which newestId is of, is taken before the locks are read.
const statement = `
with last as (
  select audit_id, seal from audit_seal order by audit_id desc limit 1
)
select coalesce((select max(id) from audit), 0) as "newestId",
       array(
         select virtualtransaction from pg_locks
         where relation = 'audit'::regclass and mode = 'RowExclusiveLock' and granted
           and database = (select oid from pg_database where datname = current_database())
       ) as writers,
       coalesce((select audit_id from last), 0) as "sealedId",
       (select seal from last) as seal,
       coalesce((
         select greatest(0, extract(epoch from clock_timestamp() - at)) from audit
         where id > coalesce((select audit_id from last), 0) order by id limit 1
       ), 0)::float8 as "unsealedSeconds"`;
