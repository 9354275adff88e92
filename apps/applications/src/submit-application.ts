import type { ApplicationSubmission } from '@assistance/types';
import { newId, type Answer, type ApiRequest, type KeyRing, type Sql } from '@assistance/service-kit';
import { applicationOf } from './reading/application-of.ts';
import type { ProgramCatalogue } from './programs/program-catalogue.ts';
import type { Program } from './programs/program.ts';
import { admit } from './submission/admit.ts';
import { findSubmission, type KnownSubmission } from './submission/find-submission.ts';
import { fingerprintOf, matchesFingerprint, type FingerprintKeys } from './submission/fingerprint.ts';
import { idempotencyKey } from './submission/idempotency-key.ts';
import { insertApplication } from './submission/insert-application.ts';
import { openKeyOf, refuseSecondOpen } from './submission/open-key.ts';
import { asInProgress, inProgress, keyReused } from './submission/refusals.ts';
import { sealAnswers } from './submission/seal-answers.ts';
import type { TakeTurns } from './submission/take-turns.ts';

export interface SubmitDeps {
  sql: Sql;
  programs: ProgramCatalogue;
  keyRing: KeyRing;
  fingerprintKeys: FingerprintKeys;
  /** Lets the requests with one key go one by one, so that those that wait hold no connection. */
  takeTurns: TakeTurns;
  /** Called once an application is committed. */
  onSubmitted: () => void;
}

type SubmitRequest = ApiRequest<ApplicationSubmission>;

/** Each attempt after the first follows a change that came between: a program's boundary, an application that closed. */
const MAX_ATTEMPTS = 3;

/**
 * POST /applications. In the good case one statement: what could refuse the submission is judged in memory before it, and
 * whether its key is known is judged by the unique index within it. Only when a check fails, or nothing was inserted, is
 * the key looked up: a repeat gets the first answer whatever the rules say by now.
 */
export function submitApplication(deps: SubmitDeps) {
  return (request: SubmitRequest): Promise<Answer> => {
    const key = idempotencyKey(request.header);
    return deps
      .takeTurns(`${key} ${request.caller.owner}`, () => submit(deps, request, key))
      .catch(asInProgress);
  };
}

async function submit(deps: SubmitDeps, request: SubmitRequest, key: string): Promise<Answer> {
  const { sql, programs } = deps;
  const { body, caller } = request;
  const ifMatch = request.header('If-Match').join(', ') || undefined;
  let at = new Date();
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const admission = admit(body, { programs, at, ifMatch });
    if ('program' in admission) {
      const accepted = await accept(deps, request, key, admission.program);
      if (accepted !== undefined) return accepted;
    }
    const { known, databaseTime } = await findSubmission(sql, caller.owner, key);
    if (known !== undefined) return repeat(deps, request, known);
    // Only the database's clock says what is in force.
    const judged = admit(body, { programs, at: databaseTime, ifMatch });
    if ('refusal' in judged) throw judged.refusal;
    if (judged.program.pack.duplicatePolicy === 'one_open') await refuseSecondOpen(sql, body, caller.owner);
    at = databaseTime;
  }
  throw inProgress();
}

/** Undefined when nothing was inserted. */
async function accept(
  { sql, keyRing, fingerprintKeys, onSubmitted }: SubmitDeps,
  { body, caller, requestId, note }: SubmitRequest,
  key: string,
  program: Program,
): Promise<Answer | undefined> {
  const applicationId = newId('app');
  const { code: programCode, version: programVersion, duplicatePolicy } = program.pack;
  const { channel, applicantRef, declarationId = null, answers } = body;
  const submittedAt = await insertApplication(sql, {
    applicationId,
    owner: caller.owner,
    idempotencyKey: key,
    fingerprint: fingerprintOf(fingerprintKeys, body),
    program,
    channel,
    applicantRef,
    declarationId,
    sealed: answers ? sealAnswers(keyRing, applicationId, answers) : null,
    openKey: duplicatePolicy === 'one_open' ? openKeyOf(body) : null,
    requestId,
  });
  if (submittedAt === undefined) return undefined;
  onSubmitted();
  note({ applicationId, programCode, programVersion, channel });
  return created({ applicationId, programCode, channel, applicantRef, declarationId, submittedAt });
}

/** The answer to the first attempt, made again from what never changes. */
function repeat(
  { fingerprintKeys }: SubmitDeps,
  { body, note }: SubmitRequest,
  known: KnownSubmission,
): Answer {
  const kept = { keyId: known.fingerprintKeyId, digest: known.fingerprint };
  if (!matchesFingerprint(fingerprintKeys, kept, body)) throw keyReused();
  const { applicationId } = known;
  note({ applicationId, repeats: true });
  const answer = created(known);
  return { ...answer, headers: { ...answer.headers, 'Idempotent-Replayed': 'true' } };
}

const created = (fields: Omit<KnownSubmission, 'fingerprint' | 'fingerprintKeyId'>): Answer => ({
  status: 201,
  body: applicationOf({ ...fields, status: 'submitted', caseId: null }),
  headers: { Location: `/applications/v1/applications/${fields.applicationId}` },
});
