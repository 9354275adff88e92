import type { DeliverySettings } from '../config.ts';
import type { AttemptOutcome } from '../sending/attempt-outcome.ts';
import { probeDelayMs } from './retry-schedule.ts';

/** What the dispatcher holds of a subscriber, from what came of its deliveries (interface-details 3). Times in ms. */
export interface Judgement {
  judged: 'active' | 'failing' | 'paused';
  /** The owner's last word on status or callbackUrl that this judgement is about. */
  epoch: number;
  reason: { code: 'failing' | 'failing_too_long' | 'gone'; since: number } | null;
  /** Failed attempts since the last success. */
  failCount: number;
  firstFailedAt: number | null;
  /** Attempts made while failing. */
  probeCount: number;
  /** When it last became active again: what was tried before is due at once. */
  revivedAt: number | null;
  /** Nothing is sent before. */
  holdUntil: number | null;
}

export const freshJudgement = (epoch: number): Judgement => ({
  judged: 'active',
  epoch,
  reason: null,
  failCount: 0,
  firstFailedAt: null,
  probeCount: 0,
  revivedAt: null,
  holdUntil: null,
});

/** The judgement after one more attempt. Pure; the same object when nothing changed. */
export function judgeAfter(
  before: Judgement,
  outcome: AttemptOutcome,
  settings: DeliverySettings,
  now: number,
): Judgement {
  if (outcome.kind === 'succeeded') return afterSuccess(before, now);
  if (before.judged === 'paused') return before;
  if (outcome.responseStatus === 410) {
    return { ...before, judged: 'paused', reason: { code: 'gone', since: now }, holdUntil: null };
  }
  const failCount = before.failCount + 1;
  const firstFailedAt = before.firstFailedAt ?? now;
  const counted = { ...before, failCount, firstFailedAt };
  const held = withHold(counted, outcome.retryAfterMs, now);
  if (before.judged === 'failing') {
    if (now - firstFailedAt >= settings.pauseAfterMs) {
      return { ...held, judged: 'paused', reason: { code: 'failing_too_long', since: now }, holdUntil: null };
    }
    const probeCount = before.probeCount + 1;
    const nextProbe = now + probeDelayMs(probeCount, settings);
    return { ...held, probeCount, holdUntil: Math.max(held.holdUntil ?? 0, nextProbe) };
  }
  if (failCount >= settings.failingAfterAttempts && now - firstFailedAt >= settings.failingAfterMs) {
    const nextProbe = now + probeDelayMs(1, settings);
    return {
      ...held,
      judged: 'failing',
      reason: { code: 'failing', since: now },
      probeCount: 1,
      holdUntil: Math.max(held.holdUntil ?? 0, nextProbe),
    };
  }
  return held;
}

function afterSuccess(before: Judgement, now: number): Judgement {
  if (before.judged === 'failing') {
    return { ...freshJudgement(before.epoch), revivedAt: now };
  }
  if (before.failCount === 0) return before;
  return { ...before, failCount: 0, firstFailedAt: null };
}

const withHold = (judgement: Judgement, retryAfterMs: number | null, now: number): Judgement =>
  retryAfterMs === null
    ? judgement
    : { ...judgement, holdUntil: Math.max(judgement.holdUntil ?? 0, now + retryAfterMs) };
