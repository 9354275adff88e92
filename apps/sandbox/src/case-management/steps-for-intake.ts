import type { IntakeData } from '@assistance/types';
import type { CaseRegister } from './case-register.ts';
import type { CaseStep } from './case-step.ts';

/** How long case management takes to determine a case by itself. */
export const DETERMINATION_DELAY_MS = 2_000;

/** Programs of which a case waits for the determination control. */
const waitingPrograms = new Set(['TEST-PENDING', 'TEST-NO-WITHDRAWAL', 'TEST-ONE-OPEN']);

export interface NewIds {
  caseId(): string;
  messageId(): string;
}

/**
 * What an intake leads to: one step, or none when it is already known, so an intake that comes again changes nothing.
 * Eligible opens a case; withdrawn closes it; a review waits for a person.
 */
export function stepsForIntake(
  intake: IntakeData,
  register: CaseRegister,
  now: Date,
  newIds: NewIds,
): CaseStep[] {
  const { applicationId, programCode } = intake;
  const at = now.toISOString();
  const file = register.caseFor(applicationId);
  switch (intake.kind) {
    case 'eligible': {
      if (file !== undefined) return [];
      const due = waitingPrograms.has(programCode)
        ? null
        : ({
            at: new Date(now.getTime() + DETERMINATION_DELAY_MS).toISOString(),
            outcome: programCode === 'TEST-DENIED' ? 'ineligible' : 'awarded',
          } as const);
      return [{ step: 'case_opened', caseId: newIds.caseId(), applicationId, at, due, ids: idsFrom(newIds) }];
    }
    case 'review':
      return register.review(applicationId) === undefined
        ? [{ step: 'review_asked', applicationId, at }]
        : [];
    case 'withdrawn': {
      if (file === undefined || file.status === 'closed') return [];
      const { caseId, status: previousStatus } = file;
      return [{ step: 'case_closed', caseId, applicationId, at, previousStatus, ids: idsFrom(newIds) }];
    }
    default:
      return intake.kind satisfies never;
  }
}

export const idsFrom = (newIds: NewIds) => ({ answer: newIds.messageId(), event: newIds.messageId() });
