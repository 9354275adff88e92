import { subscriptionRecord, type SubscriptionRecord } from '@assistance/types';
import type { Subscription as Row } from '../generated/prisma/client.ts';

/** The whole state of a subscription as it goes to the compacted topic. */
export const recordOfRow = (row: Row): SubscriptionRecord =>
  subscriptionRecord.parse({
    subscriptionId: row.subscriptionId,
    owner: row.owner,
    version: row.version,
    status: row.deletedAt === null ? row.wish : 'deleted',
    statusEpoch: row.statusEpoch,
    eventTypes: row.eventTypes,
    callbackUrl: row.callbackUrl,
    ordering: row.ordering,
    secrets: row.secrets,
    createdAt: row.createdAt.toISOString(),
  });
