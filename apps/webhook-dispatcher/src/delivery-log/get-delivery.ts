import type { Attempt, FailureReason } from '@assistance/types';
import { notFound, type Answer, type ApiRequest, type Sql } from '@assistance/service-kit';
import { deliveryOf } from './delivery-of-row.ts';
import type { LogDependencies } from './dependencies.ts';
import { findDelivery } from './find-delivery.ts';
import { jsonWithEvents } from './json-with-events.ts';

/** GET /deliveries/{deliveryId}: with its attempts, oldest first, and the event byte for byte as it is sent. */
export async function getDelivery(request: ApiRequest, deps: LogDependencies): Promise<Answer> {
  const row = await findDelivery(request, deps);
  const [attempts, event] = await Promise.all([
    readAttempts(deps.sql, row.laneNo, row.seq),
    readBody(deps.sql, row.seq),
  ]);
  return jsonWithEvents({ ...deliveryOf(row), attempts, event });
}

interface AttemptColumns {
  attemptNumber: number;
  attemptedAt: Date;
  durationMs: number;
  reason: FailureReason | null;
  responseStatus: number | null;
  responseBody: string | null;
}

const MOST_ATTEMPTS = 1_000;

/** A first attempt that succeeded is complete in `delivery`; failures and later attempts have rows of their own. */
async function readAttempts(sql: Sql, laneNo: bigint, seq: bigint): Promise<Attempt[]> {
  const rows = await sql.$queryRawUnsafe<AttemptColumns[]>(
    `select attempt_number as "attemptNumber", attempted_at as "attemptedAt", duration_ms as "durationMs", reason,
            response_status as "responseStatus", response_body as "responseBody"
     from attempt where lane_no = $1::bigint and seq = $2::bigint
     union all
     select 1, attempted_at, duration_ms, null, response_status, response_body
     from delivery d where lane_no = $1::bigint and seq = $2::bigint and attempts = 1 and not exists (
       select 1 from attempt a where a.lane_no = $1::bigint and a.seq = $2::bigint and a.attempt_number = 1)
     order by 1 limit ${MOST_ATTEMPTS}`,
    laneNo,
    seq,
  );
  return rows.map((row) => ({
    ...row,
    attemptedAt: row.attemptedAt.toISOString(),
    outcome: row.reason === null ? 'succeeded' : 'failed',
  }));
}

async function readBody(sql: Sql, seq: bigint): Promise<Uint8Array> {
  const [row] = await sql.$queryRawUnsafe<{ body: Uint8Array }[]>(
    'select body from event where seq = $1::bigint',
    seq,
  );
  // Its day was dropped since the delivery was found.
  if (row === undefined) throw notFound('delivery');
  return row.body;
}
