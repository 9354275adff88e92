import type { KeyRing, Sql } from '@assistance/service-kit';
import { rewrapDataKey } from '../submission/seal-answers.ts';

const ROWS_AT_ONCE = 500;

export interface Rewrapped {
  /** How many were under another key, and how many of them are under the current one now. */
  found: number;
  rewrapped: number;
  /** How many could not be opened, by the id of the key that they are under: it is not in the ring, or they are damaged. */
  unopenable: Map<string, number>;
}

interface Row {
  applicationId: string;
  dataKey: string | null;
}

/**
 * Walks all applications once, some hundred at a time, and wraps each data key that is under another key of the ring with
 * the current one; the answers themselves are not touched. Whoever reads meanwhile finds the one or the other, and both
 * open. What is just being changed by another is passed over: walk again until nothing is left. Can be broken off anywhere.
 */
export async function rewrapDataKeys(sql: Sql, keyRing: KeyRing): Promise<Rewrapped> {
  const total: Rewrapped = { found: 0, rewrapped: 0, unopenable: new Map() };
  for (let after: string | undefined = ''; after !== undefined;) {
    const rows: Row[] = await sql.$queryRawUnsafe<Row[]>(readRows, after, ROWS_AT_ONCE);
    const changes = rows.flatMap((row) => changeOf(keyRing, row, total.unopenable));
    total.found += changes.length;
    if (changes.length > 0) {
      const [written] = await sql.$queryRawUnsafe<{ count: number }[]>(
        writeKeys,
        JSON.stringify(changes),
        keyRing.currentKeyId,
      );
      total.rewrapped += written?.count ?? 0;
    }
    after = rows.length === ROWS_AT_ONCE ? rows.at(-1)?.applicationId : undefined;
  }
  return total;
}

function changeOf(
  keyRing: KeyRing,
  { applicationId, dataKey }: Row,
  unopenable: Rewrapped['unopenable'],
): { id: string; from: string; to: string }[] {
  if (dataKey === null || keyRing.keyIdOf(dataKey) === keyRing.currentKeyId) return [];
  try {
    return [{ id: applicationId, from: dataKey, to: rewrapDataKey(keyRing, applicationId, dataKey) }];
  } catch {
    const keyId = keyRing.keyIdOf(dataKey);
    unopenable.set(keyId, (unopenable.get(keyId) ?? 0) + 1);
    return [];
  }
}

const readRows = `
select application_id as "applicationId", data_key as "dataKey"
from application where application_id > $1 order by application_id limit $2::int`;

const writeKeys = `
with change as (
  select * from jsonb_to_recordset($1::jsonb) as t (id text, "from" text, "to" text)
), free as (
  select a.application_id, change."to" from change join application a on a.application_id = change.id
  where a.data_key = change."from"
  for no key update of a skip locked
), rewrapped as (
  update application a set data_key = free."to" from free where a.application_id = free.application_id
  returning a.application_id
), audited as (
  insert into audit (actor, action, detail)
  select 'operator-command', 'answers.keys_rotated', jsonb_build_object('keyId', $2::text, 'applications', count(*))
  from rewrapped having count(*) > 0
)
select count(*)::int as count from rewrapped`;
