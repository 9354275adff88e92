import { errorStatus, type ErrorCode, type ErrorDetail } from '@assistance/types';

/**
 * A refusal that a caller may see: a stable code and a message that a person can act on. `answerError` is the only
 * place that turns it into an answer.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;
  readonly headers: Record<string, string>;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: ErrorDetail[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.details = options.details;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return errorStatus[this.code];
  }
}

/** 404, worded the same for what does not exist and for what belongs to another. */
export const notFound = (what: string): ApiError =>
  new ApiError('not_found', `No ${what} with this identifier is known to you.`);

/** 503: what the answer needs is away for the moment. */
export const unavailable = (cause?: unknown): ApiError =>
  new ApiError('unavailable', 'The service cannot answer at the moment. Try again in a few seconds.', {
    headers: { 'Retry-After': '2' },
    cause,
  });
