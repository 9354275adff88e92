import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTcpProxy, waitUntil, type TcpProxy } from '@assistance/test-kit';
import { createPlainSql, isDataFault, isUnavailable, sqlStateOf } from '../src/index.ts';
import { openTestDatabase, type OpenDatabase } from './support/open-test-database.ts';

let database: OpenDatabase;
let proxy: TcpProxy;
let sql: ReturnType<typeof createPlainSql>;
beforeAll(async () => {
  database = await openTestDatabase();
  proxy = await createTcpProxy({ to: new URL(database.url).host });
  const url = Object.assign(new URL(database.url), { host: proxy.address }).toString();
  sql = createPlainSql({
    ...{ url, poolSize: 1, applicationName: 'plain', statementTimeoutMs: 1_000, lockTimeoutMs: 200 },
    settings: { enable_seqscan: 'off' },
  });
  await sql.$executeRawUnsafe('create table thing (id int primary key, body bytea)');
});
afterAll(async () => {
  await sql.close();
  await proxy.close();
  await database.close();
});

async function errorOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it succeeded');
}

test('values are those that a Prisma client answers', async () => {
  const bytes = Buffer.from([0, 1, 0xff, 0x5c]);
  const at = new Date('2026-02-03T04:05:06.789Z');
  const [row] = await sql.$queryRawUnsafe<Record<string, unknown>[]>(
    `select $1::bigint as big, $2::bytea as bytes, $3::timestamptz as at, $4::json as json, $5::float8 as number,
            $6::bigint[] as bigs, array[1, 2] as ints, $7::text as text, $8::bool as bool, null::int as nothing`,
    ...[9007199254740993n, bytes, at, JSON.stringify({ a: '"\\' }), 1.5, [1, 2], 'Ärger', true],
  );
  expect({ ...row, bigs: undefined, bytes: Buffer.from(row!['bytes'] as Uint8Array) }).toEqual({
    ...{ big: 9007199254740993n, bytes, at, json: { a: '"\\' }, number: 1.5, bigs: undefined },
    ...{ ints: [1, 2], text: 'Ärger', bool: true, nothing: null },
  });
});

test('a statement answers how many rows it changed', async () => {
  const insert = 'insert into thing (id) select generate_series($1::int, $2::int)';
  expect(await sql.$executeRawUnsafe(insert, 1, 3)).toBe(3);
  expect(await sql.$executeRawUnsafe('delete from thing where id > $1::int', 1)).toBe(2);
});

test('a statement is prepared once, and has the settings and deadlines of its connection', async () => {
  const statement = 'select $1::int + 4711 as sum';
  for (const value of [1, 2, 3]) await sql.$queryRawUnsafe(statement, value);
  const [found] = await sql.$queryRawUnsafe<Record<string, unknown>[]>(
    `select count(*)::int as prepared, sum(generic_plans + custom_plans)::int as runs,
            current_setting('enable_seqscan') as seqscan, current_setting('statement_timeout') as timeout,
            current_setting('lock_timeout') as "lockTimeout", current_setting('timezone') as zone,
            current_setting('application_name') as name
     from pg_prepared_statements where statement = $1`,
    statement,
  );
  expect(found).toEqual({
    ...{ prepared: 1, runs: 3, seqscan: 'off' },
    ...{ timeout: '1s', lockTimeout: '200ms', zone: 'UTC', name: 'plain' },
  });
});

test('what the data is to blame for is told from what passes', async () => {
  const data = await errorOf(sql.$executeRawUnsafe('insert into thing (id) values (1)'));
  expect([sqlStateOf(data), isDataFault(data), isUnavailable(data)]).toEqual(['23505', true, false]);
  const slow = await errorOf(sql.$queryRawUnsafe('select pg_sleep(5)'));
  expect([isDataFault(slow), isUnavailable(slow)]).toEqual([false, true]);
});

test('a connection that broke, while used or idle, fails what was under way and is replaced', async () => {
  const underWay = errorOf(sql.$queryRawUnsafe('select pg_sleep(0.8)'));
  await waitUntil(
    async () =>
      (await database.pool.query(`select 1 from pg_stat_activity where query = 'select pg_sleep(0.8)'`))
        .rowCount === 1,
  );
  await proxy.cut();
  expect(isUnavailable(await underWay)).toBe(true);
  expect(isUnavailable(await errorOf(sql.$queryRawUnsafe('select 1')))).toBe(true);
  await proxy.restore();
  expect(await sql.$queryRawUnsafe('select 1 as one')).toEqual([{ one: 1 }]);
  await proxy.cut(); // while it is idle
  await proxy.restore();
  const connected = `select 1 from pg_stat_activity where application_name = 'plain'`;
  await waitUntil(async () => (await database.pool.query(connected)).rowCount === 0);
  expect(await sql.$queryRawUnsafe('select 1 as one')).toEqual([{ one: 1 }]);
});
