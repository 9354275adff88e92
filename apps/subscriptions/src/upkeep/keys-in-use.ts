import type { Sql } from '@assistance/service-kit';

/** How many secrets are sealed under which key, by its id. */
export async function keysInUse(sql: Sql): Promise<Map<string, number>> {
  const rows = await sql.$queryRawUnsafe<{ keyId: string; count: number }[]>(statement);
  return new Map(rows.map(({ keyId, count }) => [keyId, count]));
}

const statement = `
  select split_part(s ->> 'sealed', '.', 1) as "keyId", count(*)::int as count
  from subscription, jsonb_array_elements(secrets) s
  group by 1 order by 1`;
