import type { ApplicationStatus, caseMessages } from '@assistance/types';
import type { MessageOf } from '@assistance/service-kit';
import { caseDetermined } from '../deciding/decide.ts';
import { decidedRecord, intakeRecord, type ToldApplication } from '../status/outgoing-records.ts';
import type { Reason, Transition } from '../status/apply-transitions.ts';
import { isOpen } from '../status/status-machine.ts';

export type CaseMessage = MessageOf<typeof caseMessages>;

/** What a message is judged on. */
export interface JudgedApplication extends ToldApplication {
  status: ApplicationStatus;
  version: number;
  /** A determination that came early, and the case that it is about. */
  pendingOutcome: string | null;
  pendingCaseId: string | null;
  /** Whether a person was asked to decide. */
  awaitsReview: boolean;
}

/**
 * What follows from a message of case management. `ignore`: nothing, but it is audited; `nothing`: it was taken before.
 */
export type Judgement =
  | { kind: 'move'; transition: Transition }
  | { kind: 'open_case'; caseId: string }
  | { kind: 'keep'; outcome: 'awarded' | 'ineligible'; caseId: string }
  | { kind: 'ignore'; why: 'case_differs' | 'not_awaited' | 'determined_already' }
  | { kind: 'nothing' };

const ACTOR = 'case-management';

/** Messages come late, twice and out of order; only what fits the application as it is now changes it. */
export function judgeCaseMessage(message: CaseMessage, application: JudgedApplication, now: Date): Judgement {
  switch (message.type) {
    case 'case.opened':
      return judgeOpened(message.data.caseId, application);
    case 'case.determined':
      return judgeDetermined(message.data, application, now);
    case 'review.determined':
      return judgeReview(message.data.outcome, application, now);
  }
}

function judgeOpened(caseId: string, application: JudgedApplication): Judgement {
  if (isOfAnotherCase(caseId, application)) return { kind: 'ignore', why: 'case_differs' };
  return application.caseId === null ? { kind: 'open_case', caseId } : { kind: 'nothing' };
}

/** The case that is named first, by its opening or by a determination, is the case of the application. */
function isOfAnotherCase(caseId: string, application: JudgedApplication): boolean {
  const known = application.caseId ?? application.pendingCaseId;
  return known !== null && known !== caseId;
}

function judgeDetermined(
  { caseId, outcome }: { caseId: string; outcome: 'awarded' | 'ineligible' },
  application: JudgedApplication,
  now: Date,
): Judgement {
  if (isOfAnotherCase(caseId, application)) return { kind: 'ignore', why: 'case_differs' };
  if (isOpen(application.status) && application.pendingOutcome !== null) {
    // The first one counts, also while it still waits to be applied.
    return application.pendingOutcome === outcome
      ? { kind: 'nothing' }
      : { kind: 'ignore', why: 'determined_already' };
  }
  switch (application.status) {
    case 'submitted':
    case 'validating':
      return { kind: 'keep', outcome, caseId };
    case 'eligible':
      return {
        kind: 'move',
        transition: {
          ...moveOf(application, now),
          to: outcome,
          action: 'application.decided',
          reason: caseDetermined,
          caseId,
          records: [decidedRecord(outcome, { ...application, caseId }, now)],
        },
      };
    case 'awarded':
    case 'ineligible':
      return application.status === outcome && application.caseId === caseId
        ? { kind: 'nothing' }
        : { kind: 'ignore', why: 'not_awaited' };
    case 'withdrawn':
      return { kind: 'ignore', why: 'not_awaited' };
  }
}

function judgeReview(
  outcome: 'eligible' | 'ineligible',
  application: JudgedApplication,
  now: Date,
): Judgement {
  if (!application.awaitsReview) {
    return application.status === outcome ? { kind: 'nothing' } : { kind: 'ignore', why: 'not_awaited' };
  }
  const decided = decidedRecord(outcome, application, now);
  return {
    kind: 'move',
    transition: {
      ...moveOf(application, now),
      to: outcome,
      action: 'application.decided',
      reason: reviewed,
      records: outcome === 'eligible' ? [intakeRecord('eligible', application, now), decided] : [decided],
    },
  };
}

const moveOf = ({ applicationId, version, status }: JudgedApplication, at: Date) => ({
  applicationId,
  version,
  from: status,
  at,
  actor: ACTOR,
});

const reviewed: Reason = {
  code: 'reviewed',
  message: {
    en: 'A person has looked at the application and decided.',
    es: 'Una persona ha revisado la solicitud y ha decidido.',
  },
};
