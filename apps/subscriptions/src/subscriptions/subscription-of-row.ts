import { type EventType, type Ordering, type Subscription } from '@assistance/types';
import type { Subscription as Row } from '../generated/prisma/client.ts';
import { recordOfRow } from './record-of-row.ts';
import { shownStatus } from './shown-status.ts';

/** The resource as callers see it (specification 2.6). */
export function subscriptionOfRow(row: Row): Subscription {
  return {
    subscriptionId: row.subscriptionId,
    eventTypes: recordOfRow(row).eventTypes.map(({ type }) => type as EventType),
    callbackUrl: row.callbackUrl,
    ...shownStatus(row),
    createdAt: row.createdAt.toISOString(),
    ordering: row.ordering as Ordering,
    version: row.version,
  };
}
