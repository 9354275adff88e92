import type { Delivery, DeliveryStatus, FailureReason } from '@assistance/types';
import { idOfNumbers } from '@assistance/service-kit';

/** The columns that the resource is made of; what is null was not joined to a row. */
export interface DeliveryColumns {
  laneNo: bigint;
  seq: bigint;
  subscriptionId: string;
  owner: string;
  replayId: string | null;
  laneState: 'open' | 'completed' | 'cancelled';
  endedAt: Date | null;
  subscriptionStatus: 'active' | 'paused' | 'failing' | 'deleted';
  revivedAt: Date | null;
  holdUntil: Date | null;
  eventType: string;
  eventId: string;
  arrivedAt: Date;
  deliveredAttempts: number | null;
  deliveredAttemptAt: Date | null;
  deliveredDurationMs: number | null;
  unsettledState: 'retry' | 'blocked' | 'dead' | null;
  unsettledAttempts: number | null;
  dueAt: Date | null;
  triedAt: Date | null;
  lastAttemptNumber: number | null;
  lastAttemptAt: Date | null;
  lastDurationMs: number | null;
  failureReason: FailureReason | null;
  failureStatus: number | null;
}

/** Pure. `createdAt` is when the event arrived, so a list is in its order, for a replay too. */
export function deliveryOf(row: DeliveryColumns): Delivery {
  const status = statusOf(row);
  return {
    deliveryId: deliveryId(row.laneNo, row.seq),
    subscriptionId: row.subscriptionId,
    eventId: row.eventId,
    eventType: row.eventType,
    replayId: row.replayId,
    status,
    // An attempt by hand after a success is a row of its own and leaves the success as it was recorded.
    attemptCount: Math.max(
      row.deliveredAttempts ?? 0,
      row.unsettledAttempts ?? 0,
      row.lastAttemptNumber ?? 0,
    ),
    nextAttemptAt: status === 'pending' ? (nextAttemptAt(row)?.toISOString() ?? null) : null,
    createdAt: row.arrivedAt.toISOString(),
    completedAt: completedAt(row, status)?.toISOString() ?? null,
    lastFailure:
      row.failureReason === null ? null : { reason: row.failureReason, responseStatus: row.failureStatus },
  };
}

export const deliveryId = (laneNo: bigint, seq: bigint): string => idOfNumbers('dlv', laneNo, seq);

/** What was delivered or has died stays so, whatever became of its subscription or replay later. */
function statusOf(row: DeliveryColumns): DeliveryStatus {
  if (row.deliveredAttempts !== null) return 'delivered';
  if (row.unsettledState === 'dead') return 'dead';
  return row.laneState === 'cancelled' ? 'cancelled' : 'pending';
}

/** Known only of what waits for its next attempt while the subscription is active; the rest goes when its turn comes. */
function nextAttemptAt(row: DeliveryColumns): Date | null {
  const { subscriptionStatus, dueAt, triedAt, revivedAt, holdUntil } = row;
  if (subscriptionStatus !== 'active' || dueAt === null) return null;
  const isRevived = revivedAt !== null && triedAt !== null && triedAt < revivedAt;
  const due = isRevived && revivedAt < dueAt ? revivedAt : dueAt;
  return holdUntil !== null && holdUntil > due ? holdUntil : due;
}

function completedAt(row: DeliveryColumns, status: DeliveryStatus): Date | null {
  switch (status) {
    case 'delivered':
      return endOf(row.deliveredAttemptAt, row.deliveredDurationMs);
    case 'dead':
      return endOf(row.lastAttemptAt ?? row.triedAt, row.lastDurationMs);
    case 'cancelled':
      return row.endedAt;
    case 'expired':
    case 'pending':
      return null;
  }
}

const endOf = (attemptedAt: Date | null, durationMs: number | null): Date | null =>
  attemptedAt === null ? null : new Date(attemptedAt.getTime() + (durationMs ?? 0));
