import { z } from 'zod';
import { dateTime } from './date-time.ts';
import { ordering, replayMode, deliveryCounts, statusReason } from './subscription.ts';

/** A signing secret as it travels: only ciphertext under the key ring that both services hold. */
export const sealedSecret = z.object({
  sealed: z.string(),
  createdAt: dateTime,
  /** When the secret stops signing; null for the newest. */
  expiresAt: dateTime.nullable(),
});
export type SealedSecret = z.infer<typeof sealedSecret>;

/**
 * The whole state of one subscription on the compacted topic. A reader ignores a `version` below the one it knows.
 * `status` is the owner's wish; `statusEpoch` rises when the owner sets `status` or `callbackUrl`.
 */
export const subscriptionRecord = z.object({
  subscriptionId: z.string(),
  owner: z.string(),
  version: z.int(),
  status: z.enum(['active', 'paused', 'deleted']),
  statusEpoch: z.int(),
  eventTypes: z.array(z.object({ type: z.string(), addedAt: dateTime })),
  callbackUrl: z.string(),
  ordering,
  secrets: z.array(sealedSecret),
  createdAt: dateTime,
});
export type SubscriptionRecord = z.infer<typeof subscriptionRecord>;
export const subscriptionRecordType = 'subscription.recorded';

/** What an owner asks of the dispatcher; `version` is the subscription's when it was asked. */
export const subscriptionCommands = {
  'subscription.replay_requested': z.object({
    subscriptionId: z.string(),
    version: z.int(),
    replayId: z.string(),
    since: dateTime,
    mode: replayMode,
    requestedAt: dateTime,
  }),
  'subscription.replay_cancelled': z.object({
    subscriptionId: z.string(),
    version: z.int(),
    replayId: z.string(),
  }),
  'subscription.test_requested': z.object({
    subscriptionId: z.string(),
    version: z.int(),
    eventId: z.string(),
    requestedAt: dateTime,
  }),
} as const;
export type SubscriptionCommandType = keyof typeof subscriptionCommands;
export type SubscriptionCommandData<T extends SubscriptionCommandType> = z.infer<
  (typeof subscriptionCommands)[T]
>;

/**
 * What the dispatcher tells of a subscription. `number` rises with each report about the same thing; a reader applies
 * a report only when its number is higher than the last, and a judgement only when its `statusEpoch` is current.
 */
export const subscriptionReports = {
  'subscription.status_judged': z.object({
    subscriptionId: z.string(),
    statusEpoch: z.int(),
    number: z.int(),
    status: z.enum(['active', 'failing', 'paused']),
    reason: statusReason.nullable(),
  }),
  'subscription.replay_progressed': z.object({
    subscriptionId: z.string(),
    replayId: z.string(),
    number: z.int(),
    status: z.enum(['running', 'completed', 'cancelled']),
    completedAt: dateTime.nullable(),
    progress: deliveryCounts,
  }),
} as const;
export type SubscriptionReportType = keyof typeof subscriptionReports;
export type SubscriptionReportData<T extends SubscriptionReportType> = z.infer<
  (typeof subscriptionReports)[T]
>;
