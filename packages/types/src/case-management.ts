import { z } from 'zod';
import { channel } from './application.ts';
import { dateTime } from './date-time.ts';

/**
 * What applications hands to case management. `eligible`: open a case; `review`: a fact is missing, a person must
 * decide; `withdrawn`: close what is open. Idempotent on `applicationId` and `kind`.
 */
export const intakeType = 'case_management.intake';
export const intakeData = z.object({
  kind: z.enum(['eligible', 'review', 'withdrawn']),
  applicationId: z.string(),
  programCode: z.string(),
  programVersion: z.int(),
  applicantRef: z.string(),
  declarationId: z.string().nullable(),
  channel,
  caseId: z.string().nullable(),
  submittedAt: dateTime,
  requestedAt: dateTime,
});
export type IntakeData = z.infer<typeof intakeData>;

/** Case management's answers. */
export const caseMessages = {
  'case.opened': z.object({ applicationId: z.string(), caseId: z.string().min(1), openedAt: dateTime }),
  'case.determined': z.object({
    applicationId: z.string(),
    caseId: z.string().min(1),
    outcome: z.enum(['awarded', 'ineligible']),
    determinedAt: dateTime,
  }),
  'review.determined': z.object({
    applicationId: z.string(),
    outcome: z.enum(['eligible', 'ineligible']),
    determinedAt: dateTime,
  }),
} as const;

export type CaseMessageType = keyof typeof caseMessages;
export type CaseMessageData<T extends CaseMessageType> = z.infer<(typeof caseMessages)[T]>;
