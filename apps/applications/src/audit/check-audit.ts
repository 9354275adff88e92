import type { Sql } from '@assistance/service-kit';
import { auditColumns, FIRST_SEAL, sealOf, type AuditRow } from './seal-of.ts';

const ROWS_AT_ONCE = 2_000;

/** A seal that was kept outside of the database, as the log named it. */
export interface KeptSeal {
  id: bigint;
  seal: string;
}

export interface AuditCheck {
  /** How many sealed rows were found in order. */
  sealed: number;
  last: KeptSeal | undefined;
  /** The first row at which the chain does not hold, and why. */
  broken: { id: bigint; why: Break } | undefined;
  unsealed: number;
  oldestUnsealedSeconds: number;
}
export type Break = 'row_missing' | 'seal_missing' | 'row_or_seal_changed' | 'kept_seal_differs';

interface SealedRow extends AuditRow {
  seal: Uint8Array | null;
  hasRow: boolean;
}

/**
 * Walks the audit and its seals side by side, a few thousand rows at a time, up to the last seal that was there at the
 * beginning; what is written meanwhile is not looked at. Rows behind it are only counted.
 */
export async function checkAudit(sql: Sql, kept?: KeptSeal): Promise<AuditCheck> {
  const [end] = await sql.$queryRawUnsafe<{ lastId: bigint; unsealed: number; seconds: number }[]>(readEnd);
  const { lastId, unsealed, seconds } = end ?? { lastId: 0n, unsealed: 0, seconds: 0 };
  const check: AuditCheck = {
    ...{ sealed: 0, last: undefined, broken: undefined },
    ...{ unsealed, oldestUnsealedSeconds: seconds },
  };
  let previous = FIRST_SEAL;
  let isKeptMet = kept === undefined;
  for (let after = 0n; after < lastId;) {
    const rows = await sql.$queryRawUnsafe<SealedRow[]>(readSealed, after, lastId, ROWS_AT_ONCE);
    for (const row of rows) {
      const why = breakOf(previous, row, kept);
      if (why !== undefined) return { ...check, broken: { id: row.id, why } };
      isKeptMet ||= row.id === kept?.id;
      previous = row.seal!;
      check.sealed += 1;
    }
    after = rows.at(-1)?.id ?? lastId;
  }
  const last = lastId === 0n ? undefined : { id: lastId, seal: Buffer.from(previous).toString('hex') };
  const broken = kept === undefined || isKeptMet ? undefined : ({ id: kept.id, why: 'row_missing' } as const);
  return { ...check, last, broken };
}

function breakOf(previous: Uint8Array, row: SealedRow, kept: KeptSeal | undefined): Break | undefined {
  if (!row.hasRow) return 'row_missing';
  if (row.seal === null) return 'seal_missing';
  if (!sealOf(previous, row).equals(row.seal)) return 'row_or_seal_changed';
  if (kept?.id === row.id && kept.seal !== Buffer.from(row.seal).toString('hex')) return 'kept_seal_differs';
  return undefined;
}

const readEnd = `
with last as (
  select coalesce(max(audit_id), 0) as id from audit_seal
)
select (select id from last) as "lastId", count(*)::int as unsealed,
       coalesce(greatest(0, extract(epoch from clock_timestamp() - min(at))), 0)::float8 as seconds
from audit where id > (select id from last)`;

const readSealed = `
with next as (
  (select id from audit where id > $1::bigint and id <= $2::bigint order by id limit $3::int)
  union
  (select audit_id from audit_seal where audit_id > $1::bigint and audit_id <= $2::bigint order by audit_id limit $3::int)
  order by 1 limit $3::int
)
select next.id, ${auditColumns}, audit.id is not null as "hasRow", audit_seal.seal
from next
left join audit on audit.id = next.id
left join audit_seal on audit_seal.audit_id = next.id
order by next.id`;
