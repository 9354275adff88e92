import { z } from 'zod';
import { jsonVariable, listVariable, secretKey, serviceConfig } from '@assistance/service-kit';

const fingerprintKeyId = z.string().regex(/^[A-Za-z0-9_-]{1,32}$/);

/** What the applications service reads from its environment, beside what every service reads. */
export const config = serviceConfig.extend({
  /** `{"id":"i1","key":"<base64 of 32 bytes>"}`; keys of old in `previous`, so that every repeat is recognized for ever. */
  IDEMPOTENCY_KEY: jsonVariable(
    z.strictObject({
      id: fingerprintKeyId,
      key: secretKey,
      previous: z.record(fingerprintKeyId, secretKey).default({}),
    }),
  ),
  /** Folders of programs; all that they hold is offered. */
  PROGRAM_SETS: listVariable.refine((sets) => sets.length > 0 && sets.every((set) => /^[a-z-]+$/.test(set)), {
    error: 'must name at least one folder of programs, as in agency,sandbox',
  }),
  /** Owners that see, list and withdraw only what they submitted. */
  PARTNER_CLIENTS: listVariable,
  /** The agency's own opaque form of an applicantRef; then it alone rules what is taken. */
  APPLICANT_REF_PATTERN: z
    .string()
    .optional()
    .transform((pattern, context): RegExp | undefined => {
      if (pattern === undefined || pattern === '') return undefined;
      try {
        return new RegExp(`^(?:${pattern})$`, 'u');
      } catch {
        context.addIssue({ code: 'custom', message: 'must be a regular expression' });
        return z.NEVER;
      }
    }),
});
export type Config = z.output<typeof config>;
