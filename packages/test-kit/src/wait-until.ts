import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  timeoutMs?: number;
  intervalMs?: number;
}

/**
 * Resolves with the first truthy answer of `check`. A check that throws (an `expect`, say) is tried again like one
 * that answers falsy; after `timeoutMs` (5 s by default) its last error is the cause of the rejection.
 */
export async function waitUntil<T>(
  check: () => T | Promise<T>,
  { timeoutMs = 5_000, intervalMs = 20 }: WaitOptions = {},
): Promise<NonNullable<T>> {
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  for (;;) {
    try {
      const answer = await check();
      if (answer) return answer;
      cause = undefined;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) break;
    await sleep(intervalMs);
  }
  const why = cause instanceof Error ? `: ${cause.message}` : '';
  throw new Error(`What was waited for did not come about within ${timeoutMs} ms${why}`, { cause });
}
