import pg from 'pg';
import { serverSettings, sqlStateOf, withLockTimeout, type Logger } from '@assistance/service-kit';

export const TALLY_KEPT_DAYS = 400;
const LOCK_WAIT_MS = 100;
const STATEMENT_TIMEOUT_MS = 600_000;
/** Whoever freezes between two statements loses its turn: its connection holds the lock. */
const SILENT_MS = 10_000;

export interface DropDaysOptions {
  databaseUrl: string;
  retentionDays: number;
  log: Logger;
  /** So many deliveries expired with a day: they were owed to their subscribers and never succeeded. */
  onExpired?: (deliveries: number) => void;
  /** The moment that ages are counted from; by default the database's own clock. */
  now?: Date;
  /** Ends the connection, wherever it is; the next turn goes on from there. */
  signal?: AbortSignal;
}

/**
 * One turn of retention: every whole day (UTC) older than `retentionDays` is tallied, then its partitions are detached and
 * dropped. First the log's floor is raised above it, so that nothing is read or recorded there while it is counted. Each
 * step is safe to repeat, so a crash between any two is made good by the next turn. Answers how many partitions were
 * dropped; none when another instance has its turn.
 */
export async function dropDays(options: DropDaysOptions): Promise<number> {
  const { databaseUrl, signal } = options;
  signal?.throwIfAborted();
  // Concurrent detaching cannot run in a transaction, and the turn's lock is the session's: a plain connection.
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'webhook-dispatcher retention',
    keepAlive: true,
    connectionTimeoutMillis: 3_000,
    options: serverSettings({
      timezone: 'UTC',
      lock_timeout: LOCK_WAIT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_session_timeout: SILENT_MS,
      jit: 'off',
    }),
  });
  const end = (): void => void client.end().catch(() => undefined);
  client.on('error', () => undefined);
  signal?.addEventListener('abort', end, { once: true });
  try {
    await client.connect();
    return await takeTurn(client, options);
  } finally {
    signal?.removeEventListener('abort', end);
    await client.end().catch(() => undefined);
  }
}

async function takeTurn(
  client: pg.Client,
  { retentionDays, now, log, onExpired }: DropDaysOptions,
): Promise<number> {
  const turn = await client.query<{ mine: boolean }>(
    `select pg_try_advisory_lock(hashtext('retention')) as mine`,
  );
  if (turn.rows[0]?.mine !== true) return 0;
  await raiseFloor(client, retentionDays, now);
  let dropped = 0;
  for (const { day, isTallied, partitions } of await daysBelowFloor(client)) {
    if (!isTallied) {
      await client.query('select tally_day($1::date)', [day]);
      onExpired?.(await expiredWith(client, day));
    }
    for (const partition of partitions) await dropPartition(client, partition);
    dropped += partitions.length;
    log.info({ day, partitions: partitions.length }, 'retention.day_dropped');
  }
  await client.query(
    `delete from tally where day < (coalesce($1::timestamptz, clock_timestamp()) at time zone 'UTC')::date - $2::int`,
    [now ?? null, TALLY_KEPT_DAYS],
  );
  return dropped;
}

async function expiredWith(client: pg.Client, day: string): Promise<number> {
  const { rows } = await client.query<{ expired: number }>(
    'select coalesce(sum(expired), 0)::float8 as expired from tally where day = $1::date',
    [day],
  );
  return rows[0]?.expired ?? 0;
}

/** Waits for the recordings under way, each of some milliseconds, and only when there is a day to drop. */
async function raiseFloor(client: pg.Client, retentionDays: number, now: Date | undefined): Promise<void> {
  const { rows } = await client.query<{ floor: string }>(
    `select wanted.floor::text from (
       select seq_of(date_trunc('day', coalesce($1::timestamptz, clock_timestamp()) - make_interval(days => $2::int), 'UTC'))
         as floor
     ) wanted where wanted.floor > (select seq from log_floor where id = 1)`,
    [now ?? null, retentionDays],
  );
  const [raise] = rows;
  if (raise === undefined) return;
  await withLockTimeout(() => client.query('select raise_log_floor($1::bigint)', [raise.floor]));
}

interface Partition {
  parent: string;
  name: string;
  state: 'attached' | 'detaching' | 'detached';
}

/** Days below the floor of which any table is left, the oldest first, and what a crash may have left of them. */
async function daysBelowFloor(
  client: pg.Client,
): Promise<{ day: string; isTallied: boolean; partitions: Partition[] }[]> {
  const { rows } = await client.query<{ day: string; isTallied: boolean; partitions: Partition[] }>(
    `select d.day::text, d.from_seq < f.tallied_seq as "isTallied",
            json_agg(json_build_object('parent', d.parent, 'name', d.name, 'state', d.state)) as partitions
     from (
       select c.relname as name, m.parts[1] as parent, m.parts[2]::date as day,
              seq_of(m.parts[2]::timestamp at time zone 'UTC') as from_seq,
              case when i.inhrelid is null then 'detached' when i.inhdetachpending then 'detaching' else 'attached' end as state
       from pg_class c
       cross join lateral regexp_match(c.relname, '^(event|delivery|unsettled|attempt)_(\\d{8})$') as m (parts)
       left join pg_inherits i on i.inhrelid = c.oid
       where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and m.parts is not null
     ) d cross join log_floor f
     where d.from_seq < f.seq
     group by d.day, d.from_seq, f.tallied_seq order by d.day`,
  );
  return rows;
}

/** Readers and recordings are never waited for with a lock that holds up others for longer than `LOCK_WAIT_MS`. */
async function dropPartition(client: pg.Client, { parent, name, state }: Partition): Promise<void> {
  let detaching = state === 'detaching';
  if (state !== 'detached') {
    await withLockTimeout(async () => {
      try {
        await client.query(
          `alter table ${parent} detach partition ${name} ${detaching ? 'finalize' : 'concurrently'}`,
        );
      } catch (error) {
        // One that is given up half-way has already left the log for whoever comes now; it can only be finished.
        if (sqlStateOf(error) === '55P03') detaching = await isDetaching(client, name);
        throw error;
      }
    });
  }
  await withLockTimeout(() => client.query(`drop table if exists ${name}`));
}

async function isDetaching(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ pending: boolean }>(
    'select inhdetachpending as pending from pg_inherits where inhrelid = to_regclass($1)',
    [name],
  );
  return rows[0]?.pending ?? false;
}
