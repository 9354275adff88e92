import type { Sql } from '@assistance/service-kit';
import type { Program } from '../programs/program.ts';
import type { Fingerprint } from './fingerprint.ts';
import type { SealedAnswers } from './seal-answers.ts';

export interface NewApplication {
  applicationId: string;
  owner: string;
  idempotencyKey: string;
  fingerprint: Fingerprint;
  program: Program;
  channel: string;
  applicantRef: string;
  declarationId: string | null;
  sealed: SealedAnswers | null;
  openKey: string | null;
  requestId: string;
}

/**
 * The whole submission in one statement: the application, the first row of its history and its audit row, all or nothing.
 * Answers the moment of submission; undefined when nothing was inserted, because the owner's key or the applicant's open
 * application is there already, or the program is not in force at that moment. Two at once with the same key: the second
 * waits for the first and inserts nothing.
 */
export async function insertApplication(sql: Sql, fresh: NewApplication): Promise<Date | undefined> {
  const { program, fingerprint, sealed } = fresh;
  const rows = await sql.$queryRawUnsafe<{ submittedAt: Date }[]>(
    statement,
    fresh.applicationId,
    fresh.owner,
    fresh.idempotencyKey,
    fingerprint.digest,
    fingerprint.keyId,
    program.pack.code,
    program.pack.version,
    program.digest,
    fresh.channel,
    fresh.applicantRef,
    fresh.declarationId,
    sealed?.dataKey ?? null,
    sealed?.answers ?? null,
    fresh.openKey,
    program.pack.decideAfterSeconds,
    program.effectiveFrom,
    program.effectiveTo,
    fresh.requestId,
  );
  return rows[0]?.submittedAt;
}

const statement = `
with moment as (
  select date_trunc('milliseconds', clock_timestamp()) as at
), taken as (
  insert into application (
    application_id, owner, idempotency_key, fingerprint, fingerprint_key_id,
    program_code, program_version, program_digest, channel, applicant_ref, declaration_id,
    data_key, answers, open_key, status, submitted_at, work_due_at
  )
  select $1, $2, $3, $4::bytea, $5, $6, $7::int, $8, $9, $10, $11, $12, $13::bytea, $14, 'submitted',
         moment.at, moment.at + $15::int * interval '1 second'
  from moment
  where moment.at >= $16::timestamptz and ($17::timestamptz is null or moment.at < $17::timestamptz)
  on conflict do nothing
  returning application_id, submitted_at
), remembered as (
  insert into application_history (application_id, version, status, at)
  select application_id, 1, 'submitted', submitted_at from taken
), audited as (
  insert into audit (at, actor, action, application_id, request_id, detail)
  select submitted_at, $2, 'application.submitted', application_id, $18,
         jsonb_build_object('programCode', $6::text, 'programVersion', $7::int, 'programDigest', $8::text)
  from taken
)
select submitted_at as "submittedAt" from taken`;
