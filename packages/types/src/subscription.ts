import { z } from 'zod';
import { dateTime, dateTimeInput } from './date-time.ts';
import { eventType, eventTypeNames, type EventType } from './event.ts';
import { pageOf } from './page.ts';

/** What is not in the specification is marked so in the OpenAPI documents. */
const addition = { 'x-addition': true };

export const subscriptionStatus = z.enum(['active', 'paused', 'failing']);
export type SubscriptionStatus = z.infer<typeof subscriptionStatus>;

/** `none`: up to 8 at once, begun in order of arrival; `subject`: one at a time for each subject, in order. */
export const ordering = z.enum(['none', 'subject']);
export type Ordering = z.infer<typeof ordering>;

export const statusReason = z.object({
  code: z.enum(['owner', 'failing', 'failing_too_long', 'gone']),
  since: dateTime,
});
export type StatusReason = z.infer<typeof statusReason>;

/** Specification 2.6; `ordering`, `statusReason` and `version` are additions. */
export const subscription = z.object({
  subscriptionId: z.string(),
  eventTypes: z.array(eventType),
  /** As it was given: an address that the URL standard takes, though RFC 3986 would have it escaped. */
  callbackUrl: z.string(),
  status: subscriptionStatus,
  createdAt: dateTime,
  ordering: ordering.meta(addition),
  statusReason: statusReason.nullable().meta(addition),
  version: z.int().meta(addition),
});
export type Subscription = z.infer<typeof subscription>;

/** The answer to a creation or a rotation: the secret is shown this once. */
export const subscriptionWithSecret = subscription.extend({ signingSecret: z.string() });
export type SubscriptionWithSecret = z.infer<typeof subscriptionWithSecret>;

const inCatalogueOrder = (types: EventType[]): EventType[] => eventTypeNames.filter((t) => types.includes(t));
const wantedTypes = z
  .array(eventType)
  .min(1, { error: 'must name at least one event type' })
  .transform(inCatalogueOrder);
const callbackUrl = z
  .string()
  .min(1, { error: 'must not be empty' })
  .max(2048, { error: 'must be at most 2048 characters' })
  .meta({ format: 'uri', pattern: String.raw`^[Hh][Tt][Tt][Pp][Ss]?://[^\s/?#\\@]+[^\s#\\]*$` });

export const subscriptionCreation = z.strictObject({
  eventTypes: wantedTypes,
  callbackUrl,
  ordering: ordering.nullish().meta(addition),
});

export const subscriptionChange = z
  .strictObject({
    eventTypes: wantedTypes.nullish(),
    callbackUrl: callbackUrl.nullish(),
    ordering: ordering.nullish(),
    status: z.enum(['active', 'paused']).nullish(),
  })
  .refine((change) => Object.values(change).some((value) => value !== null && value !== undefined), {
    error: 'must change at least one of eventTypes, callbackUrl, ordering and status',
  });

export const replayMode = z.enum(['all', 'failed', 'missing']);
export type ReplayMode = z.infer<typeof replayMode>;

export const replayRequest = z.strictObject({
  since: dateTimeInput.nullish(),
  mode: replayMode.nullish().meta(addition),
});

export const deliveryCounts = z.object({
  matched: z.int(),
  delivered: z.int(),
  pending: z.int(),
  dead: z.int(),
  cancelled: z.int(),
  expired: z.int(),
});
export type DeliveryCounts = z.infer<typeof deliveryCounts>;

/** Addition: a replay as a resource. `delivered` never goes back. */
export const replay = z.object({
  replayId: z.string(),
  subscriptionId: z.string(),
  since: dateTime,
  mode: replayMode,
  status: z.enum(['pending', 'running', 'completed', 'cancelled']),
  requestedAt: dateTime,
  completedAt: dateTime.nullable(),
  progress: deliveryCounts,
});
export type Replay = z.infer<typeof replay>;
export const replayList = pageOf(replay);
