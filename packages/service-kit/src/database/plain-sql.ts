import pg, { type QueryResultRow } from 'pg';
import { poolConfig, statementName, type DatabaseOptions } from './pool-config.ts';
import type { Sql } from './sql.ts';

/**
 * The database without Prisma between, for statements of which each carries hundreds of rows: Prisma writes parameters as
 * JSON and reads them again, and turns bytes into base64 and back. Values are the same as from a Prisma client.
 */
export function createPlainSql(options: DatabaseOptions): Sql & { close(): Promise<void> } {
  const pool = new pg.Pool(poolConfig(options));
  // An idle connection that breaks is replaced when one is needed; whoever used a broken one has heard of it.
  pool.on('error', () => undefined);
  const run = <T extends QueryResultRow>(text: string, values: unknown[]) =>
    pool.query<T>({ name: statementName(text), text, values, types });
  return {
    $queryRawUnsafe: async <T>(sql: string, ...parameters: unknown[]) =>
      (await run(sql, parameters)).rows as T,
    $executeRawUnsafe: async (sql, ...parameters) => (await run(sql, parameters)).rowCount ?? 0,
    close: () => pool.end(),
  };
}

const INT8 = 20;
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 && format !== 'binary'
      ? BigInt
      : (pg.types.getTypeParser(oid, format) as (text: string) => unknown),
};
