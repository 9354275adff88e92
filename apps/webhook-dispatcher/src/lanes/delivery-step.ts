import type { DeliverySettings } from '../config.ts';
import type { AttemptOutcome } from '../sending/attempt-outcome.ts';
import type { Judgement } from './judge-subscription.ts';
import type { ByHand } from './lane.ts';
import { retryDelayMs } from './retry-schedule.ts';

/** What becomes of a delivery after an attempt. Times in ms. */
export type DeliveryStep =
  | { state: 'delivered'; attempts: number }
  | { state: 'retry'; attempts: number; counted: number; dueAt: number }
  | { state: 'dead'; attempts: number; counted: number }
  | { state: 'blocked'; attempts: number; counted: number }
  /** It stays what it is; only the attempt is recorded. */
  | { state: 'kept' };

/** What was known of the delivery before the attempt. */
export interface Tried {
  attempts: number;
  /** Attempts that count towards the most that are made; those while failing do not. */
  counted: number;
  /** Asked for by hand: what is dead stays dead unless it succeeds. */
  wasDead: boolean;
}

/** Pure. An attempt by hand makes nothing worse: what is delivered stays so, what is behind its subject stays there. */
export function stepByHand({ was, aside }: ByHand, step: DeliveryStep): DeliveryStep {
  if (was === 'delivered') return { state: 'kept' };
  if (!aside || step.state !== 'retry') return step;
  return { state: 'blocked', attempts: step.attempts, counted: step.counted };
}

/** Pure. Only while its subscription is active can a delivery run out of attempts. */
export function stepAfter(
  before: Tried,
  outcome: AttemptOutcome,
  judgement: { before: Judgement; after: Judgement },
  settings: DeliverySettings,
  now: number,
  random: () => number,
): DeliveryStep {
  const attempts = before.attempts + 1;
  if (outcome.kind === 'succeeded') return { state: 'delivered', attempts };
  const counts = judgement.before.judged === 'active';
  const counted = before.counted + (counts ? 1 : 0);
  if (before.wasDead || (counts && counted >= settings.retryMaxAttempts))
    return { state: 'dead', attempts, counted };
  const dueAt = now + retryDelayMs(Math.max(1, counted), settings, random);
  return { state: 'retry', attempts, counted, dueAt };
}
