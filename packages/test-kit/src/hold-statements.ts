import { randomInt } from 'node:crypto';
import { Client, escapeIdentifier } from 'pg';
import { waitUntil } from './wait-until.ts';

export interface HoldOptions {
  /** Of the owner of the table. */
  databaseUrl: string;
  table: string;
  on: 'insert' | 'update' | 'delete';
}

export interface Hold {
  isReached(): Promise<boolean>;
  /** Resolves when a statement has come to the table and is held. */
  reached(timeoutMs?: number): Promise<void>;
  /** Ends the transactions that are held, as Postgres does when it finds their process gone. Nothing of them remains. */
  abandon(): Promise<void>;
  /** Lets what is held go on, and holds no more. */
  release(): Promise<void>;
}

/** Holds every statement that changes a table just before it does, from now until it is released. */
export async function holdStatements({ databaseUrl, table, on }: HoldOptions): Promise<Hold> {
  const key = randomInt(1, 2 ** 31);
  const name = escapeIdentifier(`hold_${key}`);
  const client = new Client({ connectionString: databaseUrl, application_name: 'test-hold' });
  await client.connect();
  await client.query('select pg_advisory_lock($1)', [key]);
  await client.query(
    `create function ${name}() returns trigger language plpgsql as
     $$ begin perform pg_advisory_xact_lock(${key}); return null; end $$`,
  );
  await client.query(
    `create trigger ${name} before ${on} on ${escapeIdentifier(table)} for each statement execute function ${name}()`,
  );
  const held = async (): Promise<number[]> => {
    const { rows } = await client.query<{ pid: number }>(
      `select pid from pg_locks
       where locktype = 'advisory' and objid = $1 and not granted
         and database = (select oid from pg_database where datname = current_database())`,
      [key],
    );
    return rows.map(({ pid }) => pid);
  };
  const isReached = async (): Promise<boolean> => (await held()).length > 0;
  return {
    isReached,
    reached: async (timeoutMs = 15_000) => {
      await waitUntil(isReached, { timeoutMs });
    },
    abandon: async () => {
      await client.query('select pg_terminate_backend(pid) from unnest($1::int[]) as held (pid)', [
        await held(),
      ]);
      await waitUntil(async () => (await held()).length === 0);
    },
    release: async () => {
      await client.query('select pg_advisory_unlock($1)', [key]);
      await client.query(`drop function ${name}() cascade`);
      await client.end();
    },
  };
}
