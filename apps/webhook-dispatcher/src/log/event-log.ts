import type { Sql } from '@assistance/service-kit';
import type { IncomingEvent } from './read-event.ts';

/** An event as the log keeps it. Positions rise in the order of commits. */
export interface LogEvent {
  seq: number;
  type: string;
  onlyLane: number | null;
  webhookId: string;
  subject: string;
  body: Buffer;
}

const MAX_READ_BYTES = 4_000_000;

interface EventRow {
  seq: bigint;
  type: string;
  only_lane: bigint | null;
  webhook_id: string;
  subject: string;
  body: Uint8Array;
}

/** The columns of an event, for the statements that read it. */
export const eventColumns = 'seq, type, only_lane, webhook_id, subject, body';

export const logEventOf = (row: EventRow): LogEvent => ({
  seq: Number(row.seq),
  type: row.type,
  onlyLane: row.only_lane === null ? null : Number(row.only_lane),
  webhookId: row.webhook_id,
  subject: row.subject,
  body: Buffer.from(row.body.buffer, row.body.byteOffset, row.body.byteLength),
});

/** Appends events that the log does not know yet, in one statement; answers how many were new. */
export async function appendToLog(sql: Sql, events: IncomingEvent[]): Promise<number> {
  let start = 0;
  const rows = events.map((event, i) => {
    const row = {
      i,
      type: event.type,
      only_lane: event.onlyLane,
      event_key: event.eventKey,
      webhook_id: event.webhookId,
      subject: event.subject,
      event_time: event.eventTime.toISOString(),
      start,
      length: event.body.length,
    };
    start += event.body.length;
    return row;
  });
  const [result] = await sql.$queryRawUnsafe<{ count: number }[]>(
    'select take_in($1::json, $2::bytea) as count',
    JSON.stringify(rows),
    Buffer.concat(events.map((event) => event.body)),
  );
  return result?.count ?? 0;
}

/** The events after a position, in order: at most `limit`, and no more once they come to 4 MB. */
export async function readLog(
  sql: Sql,
  after: number,
  limit: number,
): Promise<{ events: LogEvent[]; more: boolean }> {
  const rows = await sql.$queryRawUnsafe<EventRow[]>(
    `select ${eventColumns} from (
       select ${eventColumns}, sum(octet_length(body)) over (order by seq) - octet_length(body) as bytes_before
       from (select * from event where seq > $1::bigint order by seq limit $2::int) e
     ) e where bytes_before < $3::int order by seq`,
    after,
    limit,
    MAX_READ_BYTES,
  );
  const events = rows.map(logEventOf);
  return { events, more: events.length === limit || bytesOf(events) >= MAX_READ_BYTES };
}

export const bytesOf = (events: LogEvent[]): number => events.reduce((sum, { body }) => sum + body.length, 0);

export async function readLogHead(sql: Sql): Promise<number> {
  const [row] = await sql.$queryRawUnsafe<{ seq: bigint }[]>('select seq from log_head where id = 1');
  return Number(row?.seq ?? 0);
}

/** While it is held nothing is appended to the log, so a span's end or beginning falls between two events. */
export async function lockLogHead(tx: Sql): Promise<number> {
  const [row] = await tx.$queryRawUnsafe<{ seq: bigint }[]>(
    'select seq from log_head where id = 1 for update',
  );
  return Number(row?.seq ?? 0);
}

const POSITIONS_PER_MS = 2048;

/** The first position of a moment: a time converts to a position and back. */
export const seqOf = (time: Date | number): number => Number(time) * POSITIONS_PER_MS;
export const timeOf = (seq: number): Date => new Date(Math.floor(seq / POSITIONS_PER_MS));
