import type { Replay, ReplayMode } from '@assistance/types';
import type { Replay as Row } from '../generated/prisma/client.ts';

/** The resource as callers see it. */
export const replayOfRow = (row: Row): Replay => ({
  replayId: row.replayId,
  subscriptionId: row.subscriptionId,
  since: row.since.toISOString(),
  mode: row.mode as ReplayMode,
  status: row.status as Replay['status'],
  requestedAt: row.requestedAt.toISOString(),
  completedAt: row.completedAt?.toISOString() ?? null,
  progress: {
    matched: row.matched,
    delivered: row.delivered,
    pending: row.pending,
    dead: row.dead,
    cancelled: row.cancelled,
    expired: row.expired,
  },
});
