import { z } from 'zod';
import { dateTime } from './date-time.ts';
import { pageOf } from './page.ts';

export const applicationStatuses = [
  'submitted',
  'validating',
  'eligible',
  'ineligible',
  'awarded',
  'withdrawn',
] as const;
export const applicationStatus = z.enum(applicationStatuses);
export type ApplicationStatus = z.infer<typeof applicationStatus>;

export const channel = z.enum(['web', 'mobile', 'call_center', 'in_person']);
export type Channel = z.infer<typeof channel>;

/** The form of a program's code; one that no program could have is refused before any look-up. */
export const programCode = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, {
  error: 'must be 1 to 64 letters, digits, dots, underscores or hyphens, beginning with a letter or digit',
});

/**
 * 1–128 printable characters without spaces at the ends. Descriptions say it for tools that know no Unicode categories;
 * what that lets through more (format characters, unassigned ones) is refused all the same.
 */
export const opaqueReference = z
  .string()
  .min(1, { error: 'must not be empty' })
  .max(128, { error: 'must be at most 128 characters' })
  .regex(/^(?:[^\p{C}\p{Z}](?:[^\p{C}\p{Zl}\p{Zp}]*[^\p{C}\p{Z}])?)?$/u, {
    error: 'must be printable characters without spaces at the ends',
  })
  .meta({ pattern: String.raw`^[^\s\x00-\x1F\x7F](?:[^\x00-\x1F\x7F]*[^\s\x00-\x1F\x7F])?$` });

/** Specification 2.1. All eight fields are always present; null is explicit. */
export const application = z.object({
  applicationId: z.string(),
  programCode: z.string(),
  status: applicationStatus,
  submittedAt: dateTime,
  channel,
  declarationId: z.string().nullable(),
  applicantRef: z.string(),
  caseId: z.string().nullable(),
});
export type Application = z.infer<typeof application>;

export const applicationList = pageOf(application);

/** Specification 2.2. Unknown fields are refused: dropping what an applicant sent would be worse. */
export const applicationSubmission = z.strictObject({
  programCode,
  channel,
  applicantRef: opaqueReference,
  declarationId: opaqueReference.nullish(),
  answers: z.record(z.string(), z.unknown()).nullish(),
});
export type ApplicationSubmission = z.infer<typeof applicationSubmission>;

/** Specification 2.3: what a portal shows or a call center reads out. */
export const applicantStatus = z.object({ status: z.string(), message: z.string(), nextStep: z.string() });
export type ApplicantStatus = z.infer<typeof applicantStatus>;

/** Addition: `GET /applications/{id}/history`, oldest first. */
export const applicationHistory = z.object({
  data: z.array(
    z.object({
      status: applicationStatus,
      at: dateTime,
      reason: z.object({ code: z.string(), message: z.string(), citation: z.string().optional() }).nullable(),
    }),
  ),
});
export type ApplicationHistory = z.infer<typeof applicationHistory>;
