import type { DeliverySettings } from '../config.ts';

/**
 * How long to wait after the n-th attempt (1 for the first): exponential, capped, with jitter of half to all of it, so
 * that receivers that came back are not hit by all at once.
 */
export function retryDelayMs(attempt: number, settings: DeliverySettings, random: () => number): number {
  const { retryBaseMs, retryFactor, retryMaxMs } = settings;
  const full = Math.min(retryMaxMs, retryBaseMs * retryFactor ** (attempt - 1));
  return Math.round(full * (0.5 + random() / 2));
}

/** While failing one delivery is tried at a time, in steps up to 10 minutes. */
export function probeDelayMs(probe: number, settings: DeliverySettings): number {
  const { retryBaseMs, retryFactor, failingRetryMaxMs } = settings;
  return Math.min(failingRetryMaxMs, retryBaseMs * retryFactor ** (probe - 1));
}
