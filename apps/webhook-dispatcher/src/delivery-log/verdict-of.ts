import type { Verdict } from '@assistance/types';
import { expiresAt } from '../retention/expires-at.ts';
import { timeOfEventId } from './time-of-event-id.ts';
import { deliveryOf } from './delivery-of-row.ts';
import type { Situation } from './read-situation.ts';

/** Pure: what is to be said of an event and a subscription, to a program and to a person. */
export function verdictOf(
  situation: Situation,
  { retentionDays, now }: { retentionDays: number; now: Date },
): { verdict: Verdict; message: string } {
  const { event, delivery } = situation;
  if (event === null) return unknownEvent(situation, retentionDays, now);
  if (delivery === null) return notMatched(situation, event);
  const { status, attemptCount, nextAttemptAt, completedAt, lastFailure, replayId } = deliveryOf(delivery);
  const tried =
    attemptCount === 0
      ? ''
      : ` ${times(attemptCount)} tried; the last failure was ${lastFailure?.reason ?? 'not recorded'}.`;
  const { subscription } = situation;
  switch (status) {
    case 'delivered':
      return {
        verdict: 'delivered',
        message: `Delivered${replayId === null ? '' : ` by the replay ${replayId}`} at ${completedAt}. If your system has not handled it, retry the delivery or start a replay.`,
      };
    case 'dead':
      return {
        verdict: 'dead',
        message: `Given up at ${completedAt}:${tried} Mend the endpoint, then retry the delivery or start a replay with mode failed.`,
      };
    case 'cancelled':
      return {
        verdict: 'cancelled',
        message: `Not sent any more: the ${replayId === null ? 'subscription was deleted' : 'replay was cancelled'}${completedAt === null ? '' : ` at ${completedAt}`}.`,
      };
    case 'expired':
      return { verdict: 'event_expired', message: expiredMessage(event.arrivedAt, retentionDays) };
    case 'pending':
      break;
  }
  const expires = `Not sent by ${expiresAt(event.arrivedAt, retentionDays).toISOString()}, it expires.`;
  if (subscription.status === 'paused') {
    return {
      verdict: 'buffered_paused',
      message: `The subscription is paused${since(subscription.reasonSince)}, so the event is kept and will be sent, in order, when it is active again. ${expires}${tried} Set its status to active.`,
    };
  }
  if (subscription.status === 'failing') {
    return {
      verdict: 'buffered_failing',
      message: `The endpoint has been failing${since(subscription.reasonSince)}. One delivery is tried at a time; as soon as one succeeds all that waits is sent. ${expires}${tried} Mend the endpoint, then set the status to active to have it tried at once.`,
    };
  }
  if (delivery.unsettledState === 'retry') {
    return {
      verdict: 'retrying',
      message:
        `${tried.trim()} The next attempt is due at ${nextAttemptAt}. Nothing needs to be done; a retry of the delivery tries it now.`.trim(),
    };
  }
  const heldUntil = subscription.holdUntil !== null && subscription.holdUntil > now;
  if (delivery.unsettledState === null && situation.isNext && !heldUntil) {
    return {
      verdict: 'in_flight',
      message: `Arrived at ${event.arrivedAt.toISOString()} and is being sent now. Look again in a few seconds.`,
    };
  }
  return {
    verdict: 'pending',
    message: `Arrived at ${event.arrivedAt.toISOString()} and waits its turn${
      delivery.unsettledState === 'blocked'
        ? ' behind an earlier event of its subject'
        : heldUntil
          ? `: the endpoint asked to be left alone until ${subscription.holdUntil?.toISOString()}`
          : ' behind earlier events'
    }. Nothing needs to be done.`,
  };
}

function unknownEvent(
  { eventId, keptSince }: Situation,
  retentionDays: number,
  now: Date,
): { verdict: Verdict; message: string } {
  const madeAt = timeOfEventId(eventId);
  const isOld = (time: Date): boolean =>
    time < keptSince || now.getTime() - time.getTime() > retentionDays * 86_400_000;
  if (madeAt !== undefined && isOld(madeAt)) {
    return { verdict: 'event_expired', message: expiredMessage(madeAt, retentionDays) };
  }
  return {
    verdict: 'event_unknown',
    message: `No event with this identifier has arrived in the last ${retentionDays} days. Check the identifier (the header webhook-id); a very new event may need a few seconds.`,
  };
}

function notMatched(
  { spans, subscription }: Situation,
  event: { type: string; arrivedAt: Date },
): { verdict: Verdict; message: string } {
  const arrived = event.arrivedAt.toISOString();
  const [first] = spans;
  if (first === undefined) {
    return {
      verdict: 'type_not_subscribed',
      message: `The event is a ${event.type}, which the subscription does not take. Add the type to eventTypes, then start a replay with mode missing.`,
    };
  }
  if (event.arrivedAt < first.from || event.arrivedAt < subscription.createdAt) {
    return {
      verdict: 'before_subscription',
      message: `The event arrived at ${arrived}; the subscription takes ${event.type} since ${first.from.toISOString()}. Start a replay with mode missing to have it delivered.`,
    };
  }
  return {
    verdict: 'type_not_subscribed',
    message: `When the event arrived, at ${arrived}, ${
      subscription.status === 'deleted'
        ? 'the subscription was deleted'
        : `the subscription did not take ${event.type}`
    }. If it takes the type again, start a replay with mode missing.`,
  };
}

const expiredMessage = (time: Date, retentionDays: number): string =>
  `The event is from ${time.toISOString()}, older than the ${retentionDays} days for which events are kept. It can no longer be delivered, and what became of it is known by its day alone: the reconciliation counts what was delivered and what has expired. If your system has not handled it, read what it is about from where it came.`;
const since = (time: Date | null): string => (time === null ? '' : ` since ${time.toISOString()}`);
const times = (count: number): string => (count === 1 ? 'Once' : `${count} times`);
