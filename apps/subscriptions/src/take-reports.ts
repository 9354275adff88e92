import { readCloudEvent, type ReceivedRecord } from '@assistance/service-kit';
import { subscriptionReports, type SubscriptionReportData } from '@assistance/types';
import type { PrismaClient } from './generated/prisma/client.ts';

const applyJudgement = `
  update subscription
  set judged_status = $4, judged_reason = $5::jsonb, judged_number = $3::bigint
  where subscription_id = $1 and status_epoch = $2::int and judged_number < $3::bigint and deleted_at is null`;

const applyProgress = `
  update replay
  set status = case when status in ('completed', 'cancelled') then status else $4 end,
      completed_at = case when status in ('completed', 'cancelled') then completed_at else $5::timestamptz end,
      delivered = greatest(delivered, $6::int),
      matched = $7::int, dead = $9::int, expired = $11::int,
      pending = case when status = 'cancelled' then 0 else $8::int end,
      cancelled = case when status = 'cancelled' then $10::int + $8::int else $10::int end,
      report_number = $3::bigint
  where replay_id = $1 and subscription_id = $2 and report_number < $3::bigint`;

/**
 * Takes the dispatcher's reports, each in one guarded statement, so that a report that comes twice, late or never does no
 * harm: a judgement counts only for the epoch it judged, and each report only when its number is higher than the last.
 * A replay that has ended keeps the end that it had, what is pending of a cancelled one counts as cancelled, and
 * `delivered` never goes back.
 */
export async function takeReports(
  records: ReceivedRecord[],
  { prisma }: { prisma: PrismaClient },
): Promise<void> {
  for (const record of records) {
    const report = readCloudEvent(record, subscriptionReports);
    if (report === undefined) continue;
    if (report.type === 'subscription.status_judged') await takeJudgement(prisma, report.data);
    else await takeProgress(prisma, report.data);
  }
}

async function takeJudgement(
  prisma: PrismaClient,
  report: SubscriptionReportData<'subscription.status_judged'>,
): Promise<void> {
  const { subscriptionId, statusEpoch, number, status, reason } = report;
  await prisma.$executeRawUnsafe(
    applyJudgement,
    subscriptionId,
    statusEpoch,
    number,
    status,
    reason === null ? null : JSON.stringify(reason),
  );
}

async function takeProgress(
  prisma: PrismaClient,
  report: SubscriptionReportData<'subscription.replay_progressed'>,
): Promise<void> {
  const { subscriptionId, replayId, number, status, completedAt, progress } = report;
  const { delivered, matched, pending, dead, cancelled, expired } = progress;
  await prisma.$executeRawUnsafe(
    applyProgress,
    ...[replayId, subscriptionId, number, status, completedAt],
    ...[delivered, matched, pending, dead, cancelled, expired],
  );
}
