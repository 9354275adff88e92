import { z } from 'zod';
import { dateTime } from '@assistance/types';

const determination = z.enum(['awarded', 'ineligible']);
const caseStatus = z.enum(['opened', 'awarded', 'ineligible', 'closed']);
export type CaseStatus = z.infer<typeof caseStatus>;
export type Determination = z.infer<typeof determination>;

/** Ids of the messages that tell of a step, kept with it, so that a message sent twice bears the same id. */
const ids = z.object({ answer: z.string(), event: z.string() });
const ofCase = { caseId: z.string(), applicationId: z.string(), at: dateTime, ids };

/** What case management did, complete in itself: the journal is a list of steps. */
export const caseStep = z.discriminatedUnion('step', [
  z.object({
    ...ofCase,
    step: z.literal('case_opened'),
    /** The determination that comes by itself; null when it waits for a person. */
    due: z.object({ at: dateTime, outcome: determination }).nullable(),
  }),
  z.object({
    ...ofCase,
    step: z.literal('case_determined'),
    outcome: determination,
    /** A closed case stays closed, whatever is determined. */
    previousStatus: caseStatus,
  }),
  z.object({ ...ofCase, step: z.literal('case_closed'), previousStatus: caseStatus }),
  z.object({ step: z.literal('review_asked'), applicationId: z.string(), at: dateTime }),
  z.object({
    step: z.literal('review_determined'),
    applicationId: z.string(),
    outcome: z.enum(['eligible', 'ineligible']),
    at: dateTime,
    ids,
  }),
]);
export type CaseStep = z.infer<typeof caseStep>;

export const caseFile = z.object({
  caseId: z.string(),
  applicationId: z.string(),
  status: caseStatus,
  determined: z.boolean(),
  due: z.object({ at: dateTime, outcome: determination }).nullable(),
});
export type CaseFile = z.infer<typeof caseFile>;
