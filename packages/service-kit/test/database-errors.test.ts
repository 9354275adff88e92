import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTcpProxy, waitUntil, type TcpProxy } from '@assistance/test-kit';
import {
  createDatabaseAdapter,
  createDatabaseCheck,
  createLogger,
  isDataFault,
  isUnavailable,
  isUniqueViolation,
  sqlStateOf,
  type Sql,
} from '../src/index.ts';
import { openTestDatabase, type OpenDatabase } from './support/open-test-database.ts';

let database: OpenDatabase;
let proxy: TcpProxy;
let ask: Awaited<ReturnType<typeof connect>>;
beforeAll(async () => {
  database = await openTestDatabase();
  proxy = await createTcpProxy({ to: new URL(database.url).host });
  ask = await connect(throughProxy());
  await ask(`create table thing (id int primary key check (id < 100), name varchar(3) not null)`);
});
afterAll(async () => {
  await ask.end();
  await proxy.close();
  await database.close();
});

const throughProxy = () => Object.assign(new URL(database.url), { host: proxy.address }).toString();

/** Statements by the driver adapter that a service's Prisma client has, with short deadlines. */
async function connect(url: string) {
  const factory = createDatabaseAdapter({
    ...{ url, poolSize: 3, applicationName: 'test', statementTimeoutMs: 1_000, lockTimeoutMs: 200 },
  });
  const adapter = await factory.connect();
  const statement = async (sql: string): Promise<unknown[][]> =>
    (await adapter.queryRaw({ sql, args: [], argTypes: [] })).rows;
  return Object.assign(statement, {
    startTransaction: () => adapter.startTransaction(),
    end: () => adapter.dispose(),
  });
}

async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it succeeded');
}

describe('the data itself is at fault, and the same again never passes:', () => {
  test.each([
    ['a row like it is there', `insert into thing values (1, 'a'), (1, 'a')`, '23505'],
    ['a value is missing', `insert into thing values (2, null)`, '23502'],
    ['a rule of the table is broken', `insert into thing values (100, 'a')`, '23514'],
    ['a text is too long', `insert into thing values (3, 'abcd')`, '22001'],
    ['a number is too large', `insert into thing values (3000000000, 'a')`, '22003'],
    ['a text is no number', `select 'x'::int`, '22P02'],
    ['a text has a byte that is no UTF-8', `select convert_from('\\xff', 'UTF8')`, '22021'],
    ['JSON has NUL', `select '{"a":"\\u0000"}'::jsonb ->> 'a'`, '22P05'],
  ])('%s', async (_what, sql, state) => {
    const error = await errorOf(ask(sql));
    expect([sqlStateOf(error), isDataFault(error), isUnavailable(error)]).toEqual([state, true, false]);
    expect(isUniqueViolation(error)).toBe(state === '23505');
  });
});

describe('the database is away or too busy, and the same again may pass:', () => {
  const expectUnavailable = async (promise: Promise<unknown>): Promise<void> => {
    const error = await errorOf(promise);
    expect({ unavailable: isUnavailable(error), fault: isDataFault(error), error }).toMatchObject({
      unavailable: true,
      fault: false,
    });
  };

  test('a statement took too long', async () => {
    await expectUnavailable(ask('select pg_sleep(5)'));
  });

  test('a lock was not to be had', async () => {
    const holder = await database.pool.connect();
    await holder.query('begin; lock table thing');
    await expectUnavailable(ask('select * from thing'));
    await holder.query('rollback');
    holder.release();
    await ask('select * from thing');
  });

  test('it takes no writes', async () => {
    await expectUnavailable(
      ask(`do $$ begin set transaction read only; insert into thing values (9, 'a'); end $$`),
    );
  });

  test('its connection was ended by an administrator', async () => {
    const slow = errorOf(ask('select pg_sleep(0.9)'));
    await waitUntil(
      async () =>
        (
          await database.pool.query(
            `select pg_terminate_backend(pid) from pg_stat_activity where query = 'select pg_sleep(0.9)' and pid <> pg_backend_pid()`,
          )
        ).rowCount === 1,
    );
    expect(isUnavailable(await slow)).toBe(true);
  });

  test('its connection broke, with a statement under way; it cannot be reached; it is back', async () => {
    const slow = errorOf(ask('select pg_sleep(0.8)'));
    await waitUntil(
      async () =>
        (await database.pool.query(`select 1 from pg_stat_activity where query = 'select pg_sleep(0.8)'`))
          .rowCount === 1,
    );
    await proxy.cut();
    expect(isUnavailable(await slow)).toBe(true);
    await expectUnavailable(ask('select 1'));
    await proxy.restore();
    expect(await ask('select 1')).toEqual([[1]]);
  });

  test('its connection broke between two statements of a transaction', async () => {
    const transaction = await ask.startTransaction();
    const one = { sql: 'select 1', args: [], argTypes: [] };
    await transaction.queryRaw(one);
    await proxy.cut();
    await waitUntil(() =>
      errorOf(transaction.queryRaw(one)).then((error) => /queryable/.test(String(error))),
    );
    await expectUnavailable(transaction.queryRaw(one));
    await proxy.restore();
    await transaction.rollback().catch(() => undefined);
  });

  test('its transaction fell silent, and after 3 s its locks are free', async () => {
    await ask(`insert into thing values (50, 'a')`);
    const lock = { sql: 'select * from thing where id = 50 for update', args: [], argTypes: [] };
    const silent = await ask.startTransaction();
    await silent.queryRaw(lock);
    const startedAt = performance.now();
    await database.pool.query(`update thing set name = 'b' where id = 50`);
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    await expectUnavailable(silent.queryRaw(lock));
    await silent.rollback().catch(() => undefined);
    await waitUntil(() =>
      ask('select name from thing where id = 50').then(
        ([row]) => row?.[0] === 'b',
        () => false,
      ),
    );
  });

  test('it hangs: every statement is given up in time, and it is asked anew once it answers', async () => {
    await ask('select 1');
    proxy.hang();
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: 5 }, () => expectUnavailable(ask('select 1'))));
    expect(performance.now() - startedAt).toBeLessThan(7_000);
    await proxy.restore();
    expect(await ask('select 1')).toEqual([[1]]);
  });

  test('there is nothing at its address', async () => {
    const nowhere = await connect('postgres://a:b@127.0.0.1:1/c');
    await expectUnavailable(nowhere('select 1'));
    const noName = await connect('postgres://a:b@database.invalid:5432/c');
    await expectUnavailable(noName('select 1'));
  });
});

test.each([new Error('other'), new TypeError('x'), undefined, null, 'text', { code: 1 }])(
  'anything else is neither (%p)',
  (error) => {
    expect([sqlStateOf(error), isDataFault(error), isUnavailable(error)]).toEqual([undefined, false, false]);
  },
);

test('a mistake in a statement is neither: it is ours, and stays until it is mended', async () => {
  const error = await errorOf(ask('select * from nowhere'));
  expect([sqlStateOf(error), isDataFault(error), isUnavailable(error)]).toEqual(['42P01', false, false]);
});

test('the check says whether the database is there and takes writes, and follows it', async () => {
  const sql = {
    $queryRawUnsafe: async (text: string) => (await ask(text)).map(([writable]) => ({ writable })),
    $executeRawUnsafe: async () => 0,
  } as unknown as Sql;
  const check = createDatabaseCheck({ sql, log: createLogger({ service: 'test', level: 'silent' }) });
  expect(check.isReady()).toBe(false);
  await check.start();
  const follows = (ready: boolean) => waitUntil(() => check.isReady() === ready, { timeoutMs: 10_000 });
  await follows(true);
  await proxy.cut();
  await follows(false);
  await proxy.restore();
  await follows(true);
  const name = new URL(database.url).pathname.slice(1);
  await database.pool.query(`alter database "${name}" set default_transaction_read_only = on`);
  await proxy.cut();
  await proxy.restore();
  await follows(false);
  await database.pool.query(
    `set default_transaction_read_only = off; alter database "${name}" reset default_transaction_read_only`,
  );
  await proxy.cut();
  await proxy.restore();
  await follows(true);
  await check.stop();
});
