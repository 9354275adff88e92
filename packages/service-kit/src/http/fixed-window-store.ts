import type { ClientRateLimitInfo, Store } from 'express-rate-limit';

/**
 * Counts by key, all keys from zero again at the end of each window, so it never holds more than one window's callers.
 * Each request is told its own number: the library's store hands out one object for all requests of a key, so that of
 * those which arrive in the same moment either all or none were let through.
 */
export class FixedWindowStore implements Store {
  readonly localKeys = true;
  private readonly windowMs: number;
  private readonly hits = new Map<string, number>();
  private resetTime = new Date(0);

  constructor(windowMs: number) {
    this.windowMs = windowMs;
  }

  increment(key: string): ClientRateLimitInfo {
    this.turn();
    const totalHits = (this.hits.get(key) ?? 0) + 1;
    this.hits.set(key, totalHits);
    return { totalHits, resetTime: this.resetTime };
  }

  decrement(key: string): void {
    this.hits.set(key, Math.max(0, (this.hits.get(key) ?? 0) - 1));
  }

  resetKey(key: string): void {
    this.hits.delete(key);
  }

  private turn(): void {
    const now = Date.now();
    const untilReset = this.resetTime.getTime() - now;
    // A clock that was set back must not stretch the window.
    if (untilReset > 0 && untilReset <= this.windowMs) return;
    this.hits.clear();
    this.resetTime = new Date(now + this.windowMs);
  }
}
