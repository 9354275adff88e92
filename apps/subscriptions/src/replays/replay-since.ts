import type { ErrorDetail } from '@assistance/types';

/** Specification 8. */
export const REPLAY_WINDOW_MS = 7 * 86_400_000;
const CLOCK_DIFFERENCE_MS = 60_000;

/**
 * From when a replay begins: 7 days ago when nothing is said or something earlier, now when up to 60 s in the future.
 * Undefined when it is later than that.
 */
export function replaySince(asked: string | null | undefined, now: Date): Date | undefined {
  const earliest = now.getTime() - REPLAY_WINDOW_MS;
  const wanted = asked == null ? earliest : Date.parse(asked);
  if (!(wanted <= now.getTime() + CLOCK_DIFFERENCE_MS)) return undefined;
  return new Date(Math.min(Math.max(wanted, earliest), now.getTime()));
}

/** The fault of a body's `since` beyond its shape. */
export function sinceFaults(body: unknown, now: Date): ErrorDetail[] {
  const since: unknown = (body as { since?: unknown } | null)?.since;
  if (typeof since !== 'string' || Number.isNaN(Date.parse(since))) return [];
  if (replaySince(since, now) !== undefined) return [];
  return [{ pointer: '/since', code: 'in_the_future', message: 'must not be in the future' }];
}
