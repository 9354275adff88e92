import { ApiError } from '@assistance/service-kit';

const HEADER = 'Idempotency-Key';
const VISIBLE_ASCII = /^[!-~]{1,255}$/;

/** The caller's key: exactly one header of 1–255 visible ASCII characters, or undefined when there is none. */
export function optionalIdempotencyKey(header: (name: string) => string[]): string | undefined {
  const [key, ...more] = header(HEADER);
  if (key === undefined) return undefined;
  if (more.length > 0 || !VISIBLE_ASCII.test(key)) {
    const message = 'must be one header of 1 to 255 visible ASCII characters without spaces';
    throw new ApiError('idempotency_key_invalid', `${HEADER} ${message}.`, {
      details: [{ header: HEADER, code: 'idempotency_key_invalid', message }],
    });
  }
  return key;
}

/** 400 when there is none. */
export function idempotencyKey(header: (name: string) => string[]): string {
  const key = optionalIdempotencyKey(header);
  if (key !== undefined) return key;
  throw new ApiError(
    'idempotency_key_required',
    `Send a ${HEADER} header, a new one for each submission and the same one for its retries.`,
    { details: [{ header: HEADER, code: 'required', message: 'is required' }] },
  );
}
