import { z } from 'zod';
import { pageLimit } from '@assistance/types';

/** `limit`: decimal digits, at least 1; more than the maximum is applied as the maximum (specification 8). */
export const limitParameter = z
  .string()
  .regex(/^\d{1,9}$/, { error: 'must be a whole number of at least 1' })
  .transform(Number)
  .refine((limit) => limit >= 1, { error: 'must be a whole number of at least 1' })
  .transform((limit) => Math.min(limit, pageLimit.maximum))
  .default(pageLimit.default);

/** The two parameters of every list. */
export const pageQuery = z.strictObject({ cursor: z.string().optional(), limit: limitParameter });
