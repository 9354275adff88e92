import type { DeliveryStatus } from '@assistance/types';
import type { Sql } from '@assistance/service-kit';
import type { DeliveryColumns } from './delivery-of-row.ts';
import { walksOf } from './walk-lanes.ts';
import { wantedLanes, type LaneFilter } from './wanted-lanes.ts';

export interface DeliveryFilter extends LaneFilter {
  status?: Exclude<DeliveryStatus, 'expired'> | undefined;
  eventType?: string | undefined;
  limit: number;
}

/** The newest deliveries that a filter lets through: by position, then by lane, both falling. */
export async function selectDeliveries(sql: Sql, filter: DeliveryFilter): Promise<DeliveryColumns[]> {
  const { statement, parameters } = deliveriesStatement(filter);
  return sql.$queryRawUnsafe<DeliveryColumns[]>(statement, ...parameters);
}

export function deliveriesStatement(filter: DeliveryFilter): { statement: string; parameters: unknown[] } {
  const parameters: unknown[] = [];
  const given = (value: unknown): string => `$${parameters.push(value)}`;
  const { status, eventType } = filter;
  const laneState = status === 'pending' ? 'open' : status === 'cancelled' ? 'cancelled' : undefined;
  const wanted = wantedLanes({ ...filter, laneState }, given);
  const limit = `${given(filter.limit)}::int`;
  const type = eventType === undefined ? undefined : given(eventType);
  const walks = walksOf(status, { type, limit });
  const statement = `
    with wanted as materialized (${wanted}),
    keys as materialized (
      select lane_no, seq from (${walks.join('\nunion\n')}) walked order by seq desc, lane_no desc limit ${limit}
    )
    select ${deliveryColumns}
    from keys k join wanted w using (lane_no) ${deliveryJoins}
    order by k.seq desc, k.lane_no desc`;
  return { statement, parameters };
}

/** What the resource is made of. `a` is the last attempt, `f` the last that failed. */
const deliveryColumns = `
  w.lane_no as "laneNo", k.seq, w.subscription_id as "subscriptionId", w.owner, w.replay_id as "replayId",
  w.state as "laneState", w.ended_at as "endedAt", w.status as "subscriptionStatus", w.revived_at as "revivedAt", w.hold_until as "holdUntil",
  e.type as "eventType", e.webhook_id as "eventId", e.arrived_at as "arrivedAt",
  d.attempts as "deliveredAttempts", d.attempted_at as "deliveredAttemptAt", d.duration_ms as "deliveredDurationMs",
  u.state as "unsettledState", u.attempts as "unsettledAttempts", u.due_at as "dueAt", u.attempted_at as "triedAt",
  a.attempt_number as "lastAttemptNumber", a.attempted_at as "lastAttemptAt", a.duration_ms as "lastDurationMs",
  f.reason as "failureReason", f.response_status as "failureStatus"`;

/** For some tens of positions; each is an index probe, which `limit 1` in a lateral join guarantees. */
const deliveryJoins = `
  cross join lateral (select * from event where event.seq = k.seq limit 1) e
  left join lateral (
    select * from delivery where delivery.lane_no = k.lane_no and delivery.seq = k.seq limit 1) d on true
  left join lateral (
    select * from unsettled where unsettled.lane_no = k.lane_no and unsettled.seq = k.seq limit 1) u on true
  left join lateral (
    select * from attempt where attempt.lane_no = k.lane_no and attempt.seq = k.seq
    order by attempt.attempt_number desc limit 1) a on true
  left join lateral (
    select * from attempt where attempt.lane_no = k.lane_no and attempt.seq = k.seq and attempt.reason is not null
    order by attempt.attempt_number desc limit 1) f on true`;
