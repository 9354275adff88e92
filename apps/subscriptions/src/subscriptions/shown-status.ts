import { statusReason, type StatusReason, type SubscriptionStatus } from '@assistance/types';
import type { Subscription as Row } from '../generated/prisma/client.ts';

/** What a subscription's status is: the owner's wish first, then the dispatcher's judgement of the same epoch. */
export function shownStatus(row: Pick<Row, 'wish' | 'wishedAt' | 'judgedStatus' | 'judgedReason'>): {
  status: SubscriptionStatus;
  statusReason: StatusReason | null;
} {
  if (row.wish === 'paused') {
    return { status: 'paused', statusReason: { code: 'owner', since: row.wishedAt.toISOString() } };
  }
  if (row.judgedStatus === 'failing' || row.judgedStatus === 'paused') {
    return { status: row.judgedStatus, statusReason: statusReason.nullable().parse(row.judgedReason) };
  }
  return { status: 'active', statusReason: null };
}
