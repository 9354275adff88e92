import type { Sql } from '@assistance/service-kit';
import type { ToldApplication } from '../status/outgoing-records.ts';

/** An application that something is to be done with now, and by this instance. */
export interface DueApplication extends ToldApplication {
  status: 'validating' | 'eligible';
  version: number;
  programDigest: string;
  dataKey: string | null;
  answers: Uint8Array | null;
  pendingOutcome: 'awarded' | 'ineligible' | null;
  pendingCaseId: string | null;
  /** The database's time at the claim. */
  claimedAt: Date;
}

/** Whoever claims and dies leaves its applications to the others after this time. */
const LEASE_SECONDS = 10;

/**
 * Takes up to `limit` applications that are due, each by one instance at a time, the longest waiting first. What is
 * `submitted` becomes `validating`, with its history and audit rows, in the same statement.
 */
export const claimDue = (sql: Sql, limit: number): PromiseLike<DueApplication[]> =>
  sql.$queryRawUnsafe<DueApplication[]>(statement, limit, LEASE_SECONDS);

const statement = `
with moment as (
  select date_trunc('milliseconds', clock_timestamp()) as at
), due as (
  select application_id, status from application
  where work_due_at <= (select at from moment)
  order by work_due_at limit $1::int
  for update skip locked
), claimed as (
  update application a
  set status = case when due.status = 'submitted' then 'validating' else a.status end,
      version = case when due.status = 'submitted' then a.version + 1 else a.version end,
      work_due_at = moment.at + $2::int * interval '1 second'
  from due, moment
  where a.application_id = due.application_id
  returning a.*, due.status as previous, moment.at
), remembered as (
  insert into application_history (application_id, version, status, at)
  select application_id, version, status, at from claimed where previous = 'submitted'
), audited as (
  insert into audit (at, actor, action, application_id, detail)
  select at, 'applications', 'application.validating', application_id,
         jsonb_build_object('from', previous, 'to', status)
  from claimed where previous = 'submitted'
)
select application_id as "applicationId", status, version, program_code as "programCode",
       program_version as "programVersion", program_digest as "programDigest", applicant_ref as "applicantRef",
       declaration_id as "declarationId", channel, case_id as "caseId", submitted_at as "submittedAt",
       data_key as "dataKey", answers, pending_outcome as "pendingOutcome", pending_case_id as "pendingCaseId",
       at as "claimedAt"
from claimed`;
