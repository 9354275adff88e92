import pg from 'pg';
import { createTestDatabase } from '@assistance/test-kit';
import { migrate, type Sql } from '../../src/index.ts';

const migrations = 'test/support/migrations';

export interface OpenDatabase {
  url: string;
  pool: pg.Pool;
  /** As a Prisma client would be used: 64-bit integers are BigInt. */
  sql: Sql;
  close(): Promise<void>;
}

/** A database with the kit's own tables. */
export async function openTestDatabase(): Promise<OpenDatabase> {
  const database = await createTestDatabase({
    template: 'service-kit',
    migrate: (url) => migrate(url, migrations),
    migrationsDir: migrations,
  });
  const pool = new pg.Pool({ connectionString: database.url, max: 8, types: { getTypeParser } });
  // It ends before its connections have ended; the drop may break them.
  pool.on('error', () => undefined);
  return {
    url: database.url,
    pool,
    sql: sqlOf(pool),
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
}

export const sqlOf = (pool: pg.Pool): Sql => ({
  $queryRawUnsafe: async <T>(text: string, ...values: unknown[]) =>
    (await pool.query(text, values)).rows as T,
  $executeRawUnsafe: async (text, ...values) => (await pool.query(text, values)).rowCount ?? 0,
});

const INT8 = 20;
const getTypeParser = ((oid: number, format?: 'text' | 'binary') =>
  oid === INT8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;

export interface FreezableSql extends Sql {
  /** From now on nothing comes through: as if the process were stopped, or the way to the database cut. */
  freeze(): void;
  thaw(): void;
}

export function freezable(sql: Sql): FreezableSql {
  let frozen = Promise.resolve();
  let thaw = (): void => undefined;
  return {
    $queryRawUnsafe: async (text, ...values) => {
      await frozen;
      const answer = await sql.$queryRawUnsafe(text, ...values);
      await frozen;
      return answer as never;
    },
    $executeRawUnsafe: async (text, ...values) => {
      await frozen;
      const answer = await sql.$executeRawUnsafe(text, ...values);
      await frozen;
      return answer;
    },
    freeze: () => {
      frozen = new Promise((resolve) => (thaw = resolve));
    },
    thaw: () => thaw(),
  };
}
