import type { ApplicationSubmission } from '@assistance/types';
import {
  ApiError,
  newId,
  sqlStateOf,
  type Answer,
  type ApiRequest,
  type KeyRing,
  type Sql,
} from '@assistance/service-kit';
import { applicationOf } from './application-of.ts';
import type { ProgramCatalogue } from './programs/program-catalogue.ts';
import { admit } from './submission/admit.ts';
import { findOpenApplication, openKeyOf } from './submission/open-key.ts';
import { findSubmission, type KnownSubmission } from './submission/find-submission.ts';
import { fingerprintOf, matchesFingerprint, type FingerprintKeys } from './submission/fingerprint.ts';
import { idempotencyKey } from './submission/idempotency-key.ts';
import { insertApplication } from './submission/insert-application.ts';
import { sealAnswers } from './submission/seal-answers.ts';

export interface SubmitDeps {
  sql: Sql;
  programs: ProgramCatalogue;
  keyRing: KeyRing;
  fingerprintKeys: FingerprintKeys;
  /** Called once an application is committed. */
  onSubmitted: () => void;
}

/** Each attempt after the first follows a change that came between: a program's boundary, a closed application. */
const MAX_ATTEMPTS = 3;

/**
 * POST /applications. In the good case one statement: what could refuse the submission is judged in memory before it, and
 * whether its key is known is judged by the unique index within it. Only when a check fails, or nothing was inserted, is
 * the key looked up: a repeat gets the first answer whatever the rules say by now.
 */
export function submitApplication(deps: SubmitDeps) {
  return async (request: ApiRequest<ApplicationSubmission>): Promise<Answer> => {
    const key = idempotencyKey(request.header);
    let at = new Date();
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const ifMatch = request.header('If-Match').join(', ') || undefined;
      const admission = admit(request.body, { programs: deps.programs, at, ifMatch });
      const accepted =
        'program' in admission ? await insert(deps, request, key, admission.program) : undefined;
      if (accepted !== undefined) return accepted;
      const { known, databaseTime } = await findSubmission(deps.sql, request.caller.owner, key);
      if (known !== undefined) return repeat(deps, request, known);
      // The database's clock has the last word on what is in force.
      const now = admit(request.body, { programs: deps.programs, at: databaseTime, ifMatch });
      if ('refusal' in now) throw now.refusal;
      await refuseSecondOpen(deps, request, now.program.pack.duplicatePolicy);
      at = databaseTime;
    }
    throw inProgress();
  };
}

async function insert(
  { sql, keyRing, fingerprintKeys, onSubmitted }: SubmitDeps,
  request: ApiRequest<ApplicationSubmission>,
  key: string,
  program: Parameters<typeof insertApplication>[1]['program'],
): Promise<Answer | undefined> {
  const { body, caller, requestId, log } = request;
  const applicationId = newId('app');
  const answers = body.answers ?? undefined;
  const fresh = {
    applicationId,
    owner: caller.owner,
    idempotencyKey: key,
    fingerprint: fingerprintOf(fingerprintKeys, body),
    program,
    channel: body.channel,
    applicantRef: body.applicantRef,
    declarationId: body.declarationId ?? null,
    sealed: answers === undefined ? null : sealAnswers(keyRing, applicationId, answers),
    openKey: program.pack.duplicatePolicy === 'one_open' ? openKeyOf(body) : null,
    requestId,
  };
  const submittedAt = await insertApplication(sql, fresh).catch((error: unknown) => {
    throw sqlStateOf(error) === LOCK_NOT_AVAILABLE ? inProgress() : error;
  });
  if (submittedAt === undefined) return undefined;
  onSubmitted();
  log.info(
    {
      requestId,
      applicationId,
      programCode: program.pack.code,
      programVersion: program.pack.version,
      channel: body.channel,
      client: caller.clientId,
    },
    'application.submitted',
  );
  return created({ ...fresh, programCode: program.pack.code, submittedAt });
}

/** The answer to the first attempt, made again from what never changes. */
function repeat(
  { fingerprintKeys }: SubmitDeps,
  { body }: ApiRequest<ApplicationSubmission>,
  known: KnownSubmission,
): Answer {
  const kept = { keyId: known.fingerprintKeyId, digest: known.fingerprint };
  if (!matchesFingerprint(fingerprintKeys, kept, body)) {
    throw new ApiError(
      'idempotency_key_reused',
      'This Idempotency-Key was used before with another body. Use a new key for a new submission.',
    );
  }
  const answer = created(known);
  return { ...answer, headers: { ...answer.headers, 'Idempotent-Replayed': 'true' } };
}

const created = (fields: Omit<KnownSubmission, 'fingerprint' | 'fingerprintKeyId'>): Answer => ({
  status: 201,
  body: applicationOf({ ...fields, status: 'submitted', caseId: null }),
  headers: { Location: `/applications/v1/applications/${fields.applicationId}` },
});

async function refuseSecondOpen(
  { sql }: SubmitDeps,
  { body, caller }: ApiRequest<ApplicationSubmission>,
  policy: 'allowed' | 'one_open',
): Promise<void> {
  if (policy !== 'one_open') return;
  const open = await findOpenApplication(sql, openKeyOf(body));
  if (open === undefined) return;
  // Another's application is named to nobody.
  const which = open.owner === caller.owner ? `: ${open.applicationId}` : '';
  throw new ApiError(
    'duplicate_application',
    `The applicant has an open application for this program already${which}. ` +
      'A new one can be submitted when that one is decided or withdrawn.',
  );
}

/** A statement waited for a lock for longer than it may. */
const LOCK_NOT_AVAILABLE = '55P03';

const inProgress = (): ApiError =>
  new ApiError(
    'idempotency_request_in_progress',
    'A submission with this Idempotency-Key is being worked on. Send the same request again in a moment.',
    { headers: { 'Retry-After': '1' } },
  );
