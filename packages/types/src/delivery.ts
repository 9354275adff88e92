import { z } from 'zod';
import { dateTime } from './date-time.ts';
import { cloudEvent } from './event.ts';
import { pageOf } from './page.ts';
import { deliveryCounts } from './subscription.ts';

export const deliveryStatuses = ['pending', 'delivered', 'dead', 'cancelled', 'expired'] as const;
export const deliveryStatus = z.enum(deliveryStatuses);
export type DeliveryStatus = z.infer<typeof deliveryStatus>;

/** Why an attempt failed (interface-details 4). */
export const failureReasons = [
  'http_status',
  'redirect',
  'timeout',
  'connection_refused',
  'connection_closed',
  'dns_failed',
  'tls_failed',
  'blocked_address',
  'response_too_large',
  'malformed_response',
] as const;
export const failureReason = z.enum(failureReasons);
export type FailureReason = z.infer<typeof failureReason>;

export const delivery = z.object({
  deliveryId: z.string(),
  subscriptionId: z.string(),
  eventId: z.string(),
  eventType: z.string(),
  replayId: z.string().nullable(),
  status: deliveryStatus,
  attemptCount: z.int(),
  nextAttemptAt: dateTime.nullable(),
  createdAt: dateTime,
  completedAt: dateTime.nullable(),
  lastFailure: z.object({ reason: failureReason, responseStatus: z.int().nullable() }).nullable(),
});
export type Delivery = z.infer<typeof delivery>;
export const deliveryList = pageOf(delivery);

export const attempt = z.object({
  attemptNumber: z.int(),
  attemptedAt: dateTime,
  durationMs: z.int(),
  outcome: z.enum(['succeeded', 'failed']),
  reason: failureReason.nullable(),
  responseStatus: z.int().nullable(),
  /** At most 4 KiB of text. */
  responseBody: z.string().nullable(),
});
export type Attempt = z.infer<typeof attempt>;

export const deliveryDetail = delivery.extend({ attempts: z.array(attempt), event: cloudEvent });
export type DeliveryDetail = z.infer<typeof deliveryDetail>;

/** `matched` is the sum of the others; replays and tests are not counted. */
export const reconciliation = deliveryCounts.extend({
  subscriptionId: z.string(),
  since: dateTime,
  until: dateTime,
});
export type Reconciliation = z.infer<typeof reconciliation>;

/** The feed a receiver heals itself from: every matched event in the order of arrival. */
export const eventFeed = pageOf(cloudEvent);

export const verdicts = [
  'delivered',
  'pending',
  'in_flight',
  'retrying',
  'buffered_failing',
  'buffered_paused',
  'dead',
  'cancelled',
  'type_not_subscribed',
  'before_subscription',
  'event_expired',
  'event_unknown',
] as const;
export const explanation = z.object({
  subscriptionId: z.string(),
  eventId: z.string(),
  verdict: z.enum(verdicts),
  message: z.string(),
  deliveryId: z.string().nullable(),
});
export type Explanation = z.infer<typeof explanation>;
export type Verdict = Explanation['verdict'];
