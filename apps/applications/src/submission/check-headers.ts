import { ApiError } from '@assistance/service-kit';
import { isIfMatch } from '../programs/program-etag.ts';
import { idempotencyKey } from './idempotency-key.ts';

/** The headers of a submission: an Idempotency-Key it must have, an If-Match it may have. */
export function checkSubmissionHeaders(header: (name: string) => string[]): void {
  idempotencyKey(header);
  const ifMatch = header('If-Match');
  if (ifMatch.length === 0 || isIfMatch(ifMatch.join(', '))) return;
  const message = 'must be * or entity tags as in the ETag of GET /programs/{code}, quotes included';
  throw new ApiError('validation_error', `If-Match ${message}.`, {
    details: [{ header: 'If-Match', code: 'invalid_format', message }],
  });
}
