import type { Sql } from '@assistance/service-kit';

/** What is kept of a submission, as far as it never changes. */
export interface KnownSubmission {
  applicationId: string;
  fingerprint: Uint8Array;
  fingerprintKeyId: string;
  programCode: string;
  channel: string;
  applicantRef: string;
  declarationId: string | null;
  submittedAt: Date;
}

/** The submission that this owner made with this key, if there is one, and what time it is. */
export async function findSubmission(
  sql: Sql,
  owner: string,
  idempotencyKey: string,
): Promise<{ known: KnownSubmission | undefined; databaseTime: Date }> {
  const [row] = await sql.$queryRawUnsafe<(KnownSubmission & { databaseTime: Date })[]>(
    statement,
    owner,
    idempotencyKey,
  );
  if (row === undefined) throw new Error('the look-up of a submission answered no row');
  const { databaseTime, ...known } = row;
  return { databaseTime, known: row.applicationId === null ? undefined : known };
}

const statement = `
select a.application_id as "applicationId", a.fingerprint, a.fingerprint_key_id as "fingerprintKeyId",
       a.program_code as "programCode", a.channel, a.applicant_ref as "applicantRef",
       a.declaration_id as "declarationId", a.submitted_at as "submittedAt", clock_timestamp() as "databaseTime"
from (select 1) always
left join application a on a.owner = $1 and a.idempotency_key = $2`;
