import { z } from 'zod';
import { dateTimeInput, deliveryStatus, eventTypeNames, testEventType } from '@assistance/types';
import { invalidCursor, pageQuery, type Answer, type ApiRequest } from '@assistance/service-kit';
import { auditOperatorRead } from './audit-operator-read.ts';
import type { LogDependencies } from './dependencies.ts';
import { deliveryOf } from './delivery-of-row.ts';
import { newestSeqOf } from './newest-event.ts';
import { selectDeliveries, type DeliveryFilter } from './select-deliveries.ts';
import { FIRST_SEQ, firstSeqOf, LAST_SEQ } from './wanted-lanes.ts';

// Postgres has no text with NUL.
const name = z.string().regex(/^[^\0]{1,255}$/u, { error: 'must be 1 to 255 characters' });

export const deliveriesQuery = pageQuery.extend({
  subscriptionId: name.optional(),
  status: deliveryStatus.optional(),
  eventType: z.enum([...eventTypeNames, testEventType]).optional(),
  eventId: name.optional(),
  replayId: name.optional(),
  since: dateTimeInput.optional(),
  until: dateTimeInput.optional(),
});
type DeliveriesQuery = z.output<typeof deliveriesQuery>;

const position = z.tuple([z.string().regex(/^\d{1,19}$/), z.string().regex(/^\d{1,19}$/)]);

/**
 * GET /deliveries: newest first by the arrival of the event, which `since` and `until` (not included) count by. Another's
 * subscription is as unknown here as one that does not exist: it finds nothing.
 */
export async function listDeliveries(
  request: ApiRequest<undefined, DeliveriesQuery>,
  { sql, cursors, operators }: LogDependencies,
): Promise<Answer> {
  const { caller, query } = request;
  const { cursor, limit, ...filters } = query;
  const isOperator = operators.has(caller.owner);
  const binding = ['deliveries', caller.owner, filters];
  const after = cursor === undefined ? undefined : positionOf(cursors.decode(cursor, binding));
  if (isOperator) await auditOperatorRead(sql, request, filters.subscriptionId);
  const range = await rangeOf(sql, filters);
  // Nothing is written down as expired while its event is in the log.
  const rows =
    range === undefined || filters.status === 'expired'
      ? []
      : await selectDeliveries(sql, {
          ...range,
          owner: isOperator ? undefined : caller.owner,
          subscriptionId: filters.subscriptionId,
          replayId: filters.replayId,
          status: filters.status,
          eventType: filters.eventType,
          after,
          limit: limit + 1,
        });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const nextCursor =
    rows.length > limit && last !== undefined
      ? cursors.encode([String(last.seq), String(last.laneNo)], binding)
      : null;
  return { status: 200, body: { data: page.map(deliveryOf), page: { nextCursor, limit } } };
}

/** The positions that are asked for; undefined when there can be none. */
async function rangeOf(
  sql: LogDependencies['sql'],
  { since, until, eventId }: Pick<DeliveriesQuery, 'since' | 'until' | 'eventId'>,
): Promise<Pick<DeliveryFilter, 'fromSeq' | 'toSeq'> | undefined> {
  const fromSeq = since === undefined ? FIRST_SEQ : firstSeqOf(since);
  const toSeq = until === undefined ? LAST_SEQ : firstSeqOf(until) - 1n;
  if (eventId === undefined) return fromSeq > toSeq ? undefined : { fromSeq, toSeq };
  const seq = await newestSeqOf(sql, eventId);
  return seq === undefined || seq < fromSeq || seq > toSeq ? undefined : { fromSeq: seq, toSeq: seq };
}

function positionOf(decoded: unknown): { seq: bigint; laneNo: bigint } {
  const parsed = position.safeParse(decoded);
  if (!parsed.success) throw invalidCursor();
  const [seq, laneNo] = parsed.data;
  return { seq: BigInt(seq), laneNo: BigInt(laneNo) };
}
