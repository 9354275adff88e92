import type { Sql } from '@assistance/service-kit';

const ROWS_AT_ONCE = 500;

/** How many closed applications still have answers that are to be erased. */
export async function countErasable(sql: Sql, olderThanDays: number): Promise<number> {
  const [row] = await sql.$queryRawUnsafe<{ count: number }[]>(countRows, olderThanDays);
  return row?.count ?? 0;
}

/**
 * Erases the answers, with their data keys, of applications that were closed longer ago than so many days, some hundred in
 * one transaction with their audit rows, the oldest first. The application, its history and its idempotency key go on.
 * Safe to repeat and to break off; what another is just changing is passed over. Answers how many were erased.
 */
export async function eraseAnswers(sql: Sql, olderThanDays: number): Promise<number> {
  let erased = 0;
  for (let after: Date | null = new Date(0); after !== null;) {
    const rows: Batch[] = await sql.$queryRawUnsafe<Batch[]>(eraseRows, olderThanDays, after, ROWS_AT_ONCE);
    erased += rows[0]?.count ?? 0;
    after = rows[0]?.last ?? null;
  }
  return erased;
}

interface Batch {
  count: number;
  /** When the last of them was closed: the next batch need not pass over what this one left behind. */
  last: Date | null;
}

const due = `closed_at < now() - $1::int * interval '1 day' and answers is not null`;

const countRows = `select count(*)::int as count from application where ${due}`;

const eraseRows = `
with due as (
  select application_id, closed_at from application
  where ${due} and closed_at >= $2::timestamptz
  order by closed_at limit $3::int
  for no key update skip locked
), erased as (
  update application a set answers = null, data_key = null
  from due where a.application_id = due.application_id
  returning a.application_id, a.closed_at
), audited as (
  insert into audit (actor, action, application_id, detail)
  select 'operator-command', 'answers.erased', application_id, jsonb_build_object('olderThanDays', $1::int)
  from erased
)
select count(*)::int as count, max(closed_at) as last from erased`;
