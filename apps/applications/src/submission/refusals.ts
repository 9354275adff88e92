import { ApiError, sqlStateOf } from '@assistance/service-kit';
import { TurnTimeout } from './take-turns.ts';

/** A statement waited for a lock longer than it may: another instance is at work with the same key. */
const LOCK_NOT_AVAILABLE = '55P03';

export const keyReused = (): ApiError =>
  new ApiError(
    'idempotency_key_reused',
    'This Idempotency-Key was used before with another body. Use a new key for a new submission.',
  );

export const inProgress = (): ApiError =>
  new ApiError(
    'idempotency_request_in_progress',
    'A submission with this Idempotency-Key is being worked on. Send the same request again in a moment.',
    { headers: { 'Retry-After': '1' } },
  );

/** Whoever waited too long for another with the same key is told so; any other error stays what it is. */
export function asInProgress(error: unknown): never {
  if (error instanceof TurnTimeout || sqlStateOf(error) === LOCK_NOT_AVAILABLE) throw inProgress();
  throw error;
}
