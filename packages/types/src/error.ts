import { z } from 'zod';

/**
 * Every error code of every interface with the status it is sent under (specification 7, interface-details 1).
 * A code never changes its meaning; callers branch on it.
 */
export const errorStatus = {
  bad_request: 400,
  validation_error: 400,
  malformed_json: 400,
  idempotency_key_required: 400,
  idempotency_key_invalid: 400,
  direct_identifier: 400,
  invalid_cursor: 400,
  token_missing: 401,
  token_invalid: 401,
  insufficient_scope: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_key_reused: 409,
  idempotency_request_in_progress: 409,
  duplicate_application: 409,
  stale_version: 409,
  subscription_limit_reached: 409,
  too_many_replays: 409,
  too_many_secrets: 409,
  already_determined: 409,
  payload_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  expectation_failed: 417,
  program_unknown: 422,
  program_not_open: 422,
  withdrawal_not_permitted: 422,
  already_withdrawn: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** One fault: where it is (a JSON Pointer into the body, a parameter or a header) and what is wrong, never the rejected value. */
export const errorDetail = z.object({
  pointer: z.string().optional(),
  parameter: z.string().optional(),
  header: z.string().optional(),
  code: z.string(),
  message: z.string(),
});
export type ErrorDetail = z.infer<typeof errorDetail>;

/** The body of every answer that is not a success (specification 2.5). */
export const errorBody = z.object({
  code: z.enum(Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]]),
  message: z.string(),
  requestId: z.guid(),
  details: z.array(errorDetail).optional(),
});
export type ErrorBody = z.infer<typeof errorBody>;
