import type { ApplicationStatus } from '@assistance/types';
import { ApiError, type Answer, type ApiRequest, type Sql } from '@assistance/service-kit';
import { applicationOf } from './reading/application-of.ts';
import { intakeRecord } from './status/outgoing-records.ts';
import type { PublishedPrograms } from './programs/published-programs.ts';
import { findVisible, type ReadDeps } from './read-application.ts';
import { canMove } from './status/status-machine.ts';
import { optionalIdempotencyKey } from './submission/idempotency-key.ts';
import { applyTransitions, type Reason } from './status/apply-transitions.ts';

export interface WithdrawDeps extends ReadDeps {
  sql: Sql;
  published: PublishedPrograms;
  /** Called once a withdrawal is committed, with what is to be told. */
  onWithdrawn: () => void;
}

type Found = Awaited<ReturnType<typeof findVisible>>;

/** An application changes its status a handful of times in its life, so a few attempts see all that can come between. */
const MAX_ATTEMPTS = 8;

/** POST /applications/{applicationId}/withdraw. With an Idempotency-Key the same 200 can be had again. */
export function withdrawApplication(deps: WithdrawDeps) {
  return async (request: ApiRequest): Promise<Answer> => {
    const key = optionalIdempotencyKey(request.header) ?? null;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const found = await findVisible(deps, request);
      if (isRepeat(found, request.caller.owner, key)) {
        return withdrawn({ ...found, caseId: found.withdrawalCaseId }, { 'Idempotent-Replayed': 'true' });
      }
      await refuseUnlessPermitted(deps.published, found);
      if (await withdraw(deps, request, found, key)) return withdrawn(found);
    }
    throw new Error('the application kept changing while it was to be withdrawn');
  };
}

const isRepeat = (found: Found, owner: string, key: string | null): boolean =>
  found.status === 'withdrawn' &&
  key !== null &&
  found.withdrawalKey === key &&
  found.withdrawalOwner === owner;

async function refuseUnlessPermitted(published: PublishedPrograms, found: Found): Promise<void> {
  const status = found.status as ApplicationStatus;
  if (status === 'withdrawn') {
    throw new ApiError(
      'already_withdrawn',
      'This application was withdrawn before. Nothing more is to be done.',
    );
  }
  const { permittedFrom } = (await published.versionOf(found)).pack.withdrawal;
  if (canMove(status, 'withdrawn') && permittedFrom.some((from) => from === status)) return;
  throw new ApiError(
    'withdrawal_not_permitted',
    permittedFrom.length === 0
      ? 'Applications for this program cannot be withdrawn. Ask the agency that runs it.'
      : `This application is ${status}; it can be withdrawn only while it is ${alternatives.format(permittedFrom)}.`,
  );
}

async function withdraw(
  { sql, onWithdrawn }: WithdrawDeps,
  { caller, requestId, note }: ApiRequest,
  found: Found,
  key: string | null,
): Promise<boolean> {
  const { applicationId, version, programCode } = found;
  const at = new Date();
  const applied = await applyTransitions(sql, [
    {
      applicationId,
      version,
      from: found.status as ApplicationStatus,
      to: 'withdrawn',
      at,
      reason,
      actor: caller.owner,
      action: 'application.withdrawn',
      requestId,
      withdrawal: { owner: caller.owner, key, caseId: found.caseId },
      records: isHandedOver(found)
        ? [intakeRecord('withdrawn', { ...found, caseId: found.caseId ?? found.pendingCaseId }, at)]
        : [],
    },
  ]);
  if (!applied.has(applicationId)) return false;
  onWithdrawn();
  note({ applicationId, programCode, from: found.status });
  return true;
}

/**
 * Whether a case exists or may exist: one was named, or case management was told of the application, as eligible or to be
 * reviewed (then the deciding loop leaves it alone).
 */
const isHandedOver = ({ status, workDueAt, caseId, pendingCaseId }: Found): boolean =>
  (caseId ?? pendingCaseId) !== null ||
  status === 'eligible' ||
  (status === 'validating' && workDueAt === null);

const withdrawn = (found: Found, headers: Record<string, string> = {}): Answer => ({
  status: 200,
  body: applicationOf({ ...found, status: 'withdrawn' }),
  headers,
});

const alternatives = new Intl.ListFormat('en', { type: 'disjunction' });

const reason: Reason = {
  code: 'withdrawn_on_request',
  message: {
    en: 'The application was withdrawn at the request of the applicant.',
    es: 'La solicitud fue retirada a petición de la persona solicitante.',
  },
};
