import type { Logger, Sql } from '@assistance/service-kit';
import { openStatuses } from '../status/status-machine.ts';
import type { DecidingMetrics } from './deciding-metrics.ts';

/** The loop takes up what is due within a second, and again when a lease of 10 s has ended. */
const OVERDUE_SECONDS = 60;

/**
 * Measures what is stuck: how long the oldest application of each open status has been waiting, and how long the deciding
 * loop has left waiting what is due. What it should have taken up long ago is logged, too.
 */
export async function watchOpen({
  sql,
  metrics,
  log,
}: {
  sql: Sql;
  metrics: DecidingMetrics;
  log: Logger;
}): Promise<false> {
  const rows = await sql.$queryRawUnsafe<{ status: string; seconds: number }[]>(readOldest, openStatuses);
  for (const { status, seconds } of rows) metrics.oldestSeconds.set({ status }, Math.max(0, seconds));
  const [due] =
    await sql.$queryRawUnsafe<{ applicationId: string; status: string; seconds: number }[]>(readDue);
  metrics.dueSeconds.set(Math.max(0, due?.seconds ?? 0));
  if (due !== undefined && due.seconds > OVERDUE_SECONDS) log.warn(due, 'application.overdue');
  return false;
}

const readOldest = `
select open.status, coalesce(extract(epoch from clock_timestamp() - oldest.submitted_at), 0)::float8 as seconds
from unnest($1::text[]) as open (status)
left join lateral (
  select submitted_at from application where application.status = open.status
  order by submitted_at, application_id limit 1
) oldest on true`;

const readDue = `
select application_id as "applicationId", status,
       extract(epoch from clock_timestamp() - work_due_at)::float8 as seconds
from application where work_due_at is not null order by work_due_at limit 1`;
