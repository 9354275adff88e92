import { ApiError } from './api-error.ts';
import { MAX_BODY_BYTES } from './http-server.ts';

/** Of one caller, being read at the same time: so many bodies of the greatest size. */
const MAX_BYTES_UNDER_WAY = 32 * MAX_BODY_BYTES;

export type BodyAllowance = <T>(owner: string, bytes: number, read: () => Promise<T>) => Promise<T>;

/**
 * Lets each caller have only so much in memory of bodies that have not arrived in full: whoever begins many and lets them
 * stall is refused (429) when the others have not noticed it yet.
 */
export function createBodyAllowance(): BodyAllowance {
  const underWay = new Map<string, number>();
  return async (owner, bytes, read) => {
    const others = underWay.get(owner) ?? 0;
    if (others + bytes > MAX_BYTES_UNDER_WAY) throw tooMuchAtOnce();
    underWay.set(owner, others + bytes);
    try {
      return await read();
    } finally {
      const rest = underWay.get(owner)! - bytes;
      if (rest === 0) underWay.delete(owner);
      else underWay.set(owner, rest);
    }
  };
}

const tooMuchAtOnce = (): ApiError =>
  new ApiError(
    'rate_limited',
    'Too many large bodies at once. Send the next when those before have arrived.',
    {
      headers: { 'Retry-After': '1', Connection: 'close' },
    },
  );
