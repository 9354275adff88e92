import { isId, notFound } from '@assistance/service-kit';
import { auditOperatorRead, type OperatorRequest } from './audit-operator-read.ts';
import type { LogDependencies } from './dependencies.ts';
import { effectiveStatus } from './wanted-lanes.ts';

/** A subscription as the log's verbs need it. */
export interface LoggedSubscription {
  subscriptionId: string;
  owner: string;
  status: 'active' | 'paused' | 'failing' | 'deleted';
  /** The lane of what arrives; replays have others. */
  laneNo: bigint;
  cursor: bigint;
  createdAt: Date;
  deletedAt: Date | null;
  reasonSince: Date | null;
  holdUntil: Date | null;
  ordering: string;
}

const statement = `
  select s.subscription_id as "subscriptionId", s.owner, ${effectiveStatus} as status, live.lane_no as "laneNo",
         live.cursor, s.created_at as "createdAt", s.deleted_at as "deletedAt", live.reason_since as "reasonSince",
         live.hold_until as "holdUntil", s.ordering
  from subscription s join lane live on live.subscription_id = s.subscription_id and live.replay_id is null
  where s.subscription_id = $1`;

/**
 * The subscription that a request names, if the caller may read of it; 404 for another's, for what is unknown, and for
 * what the dispatcher does not know yet. An operator's read of another's is audited.
 */
export async function findSubscription(
  request: OperatorRequest,
  { sql, operators }: LogDependencies,
  subscriptionId: string,
): Promise<LoggedSubscription> {
  const { caller } = request;
  if (!isId('sub', subscriptionId)) throw notFound('subscription');
  const [found] = await sql.$queryRawUnsafe<LoggedSubscription[]>(statement, subscriptionId);
  if (found === undefined) throw notFound('subscription');
  if (found.owner !== caller.owner) {
    if (!operators.has(caller.owner)) throw notFound('subscription');
    await auditOperatorRead(sql, request, subscriptionId);
  }
  return found;
}
