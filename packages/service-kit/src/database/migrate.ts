import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { serverSettings } from './pool-config.ts';
import { withLockTimeout } from './with-lock-timeout.ts';

const LOCK = 72_707_369;
/** For another's turn, and for the lock of a table: whoever waits for that holds up all who come after. */
const WAIT = { turnMs: 120_000, tableMs: 100 };
/** Whoever freezes between two statements loses its turn. */
const SILENT_MS = 10_000;

interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

/**
 * Applies Prisma's migration files in order and records them in Prisma's own table, so that `prisma migrate deploy` and
 * this function can be used in turn. Each file runs in one transaction, and steps aside while a table that it changes is in
 * use for long. Two at once: one applies, the other waits and finds nothing to do. Refuses to go on after an edited or unfinished migration. Answers the names that it applied.
 */
export async function migrate(databaseUrl: string, directory: string): Promise<string[]> {
  const client = new pg.Client({
    ...{ connectionString: databaseUrl, application_name: 'migrate', keepAlive: true },
    options: serverSettings({
      idle_session_timeout: SILENT_MS,
      idle_in_transaction_session_timeout: SILENT_MS,
      lock_timeout: WAIT.turnMs,
    }),
  });
  client.on('error', () => undefined); // whatever is asked next is refused
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK]);
    await client.query(`set lock_timeout = ${WAIT.tableMs}`);
    await client.query(migrationsTable);
    const applied = await readApplied(client);
    const pending = (await readMigrations(directory)).filter((migration) => !isApplied(migration, applied));
    for (const migration of pending) await withLockTimeout(() => apply(client, migration));
    return pending.map(({ name }) => name);
  } finally {
    await client.end();
  }
}

const migrationsTable = `create table if not exists "_prisma_migrations" (
  id varchar(36) primary key not null,
  checksum varchar(64) not null,
  finished_at timestamptz,
  migration_name varchar(255) not null,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz not null default now(),
  applied_steps_count integer not null default 0
)`;

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

async function readApplied(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string; finished: boolean }>(
    `select migration_name as name, checksum, finished_at is not null as finished
     from "_prisma_migrations" where rolled_back_at is null`,
  );
  const unfinished = rows.find((row) => !row.finished);
  if (unfinished !== undefined) throw new Error(`migration ${unfinished.name} was begun and never finished`);
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

function isApplied({ name, checksum }: Migration, applied: Map<string, string>): boolean {
  const recorded = applied.get(name);
  if (recorded !== undefined && recorded !== checksum)
    throw new Error(`migration ${name} was edited after it was applied`);
  return recorded !== undefined;
}

async function apply(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(sql);
    await client.query(
      `insert into "_prisma_migrations" (id, checksum, finished_at, migration_name, applied_steps_count)
       values ($1, $2, now(), $3, 1)`,
      [randomUUID(), checksum, name],
    );
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : 'unknown error'}`, {
      cause: error,
    });
  }
}
