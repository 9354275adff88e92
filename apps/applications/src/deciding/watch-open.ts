import type { Sql } from '@assistance/service-kit';
import { openStatuses } from '../status/status-machine.ts';
import type { DecidingMetrics } from './deciding-metrics.ts';

/** Measures how long the oldest application of each open status has been waiting: what is stuck shows here. */
export async function watchOpen({ sql, metrics }: { sql: Sql; metrics: DecidingMetrics }): Promise<false> {
  const rows = await sql.$queryRawUnsafe<{ status: string; seconds: number }[]>(statement, openStatuses);
  for (const { status, seconds } of rows) metrics.oldestSeconds.set({ status }, Math.max(0, seconds));
  return false;
}

const statement = `
select open.status, coalesce(extract(epoch from clock_timestamp() - oldest.submitted_at), 0)::float8 as seconds
from unnest($1::text[]) as open (status)
left join lateral (
  select submitted_at from application where application.status = open.status
  order by submitted_at, application_id limit 1
) oldest on true`;
