import type { OutgoingRecord } from '@assistance/service-kit';
import type { AttemptOutcome } from '../sending/attempt-outcome.ts';
import type { DeliveryStep } from './delivery-step.ts';
import type { Lane } from './lane.ts';
import type { SubscriptionLanes } from './subscription-lanes.ts';

/** An attempt that was made. */
export interface MadeAttempt {
  attemptNumber: number;
  attemptedAt: Date;
  durationMs: number;
  outcome: AttemptOutcome;
}

/** What is to be recorded of one delivery. */
export interface Recording {
  subscription: SubscriptionLanes;
  lane: Lane;
  seq: number;
  subject: string;
  /** Never recorded before: it moves the cursor. */
  fresh: boolean;
  attempt: MadeAttempt | null;
  step: DeliveryStep;
  onRecorded?: () => void;
}

/** What a subscription's owner is told, with the batch that made it true. */
export interface PendingReport {
  subscription: SubscriptionLanes;
  record: OutgoingRecord;
}

/** A replay that has come to its end, or learned how much it has to do. */
export interface LaneChange {
  subscription: SubscriptionLanes;
  lane: Lane;
  state: 'completed' | null;
  matched: number | null;
}

/** What is recorded together. */
export interface OutcomeBatch {
  recordings: Recording[];
  reports: PendingReport[];
  changes: LaneChange[];
  judged: SubscriptionLanes[];
  subscriptions: Set<SubscriptionLanes>;
}
