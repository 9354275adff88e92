import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { createTestDatabase, waitUntil, type TestDatabase } from '@assistance/test-kit';
import { migrate } from '../src/index.ts';

let database: TestDatabase;
let folder: string;
let client: pg.Client;
beforeEach(async () => {
  database = await createTestDatabase({ template: 'empty', migrate: async () => undefined });
  folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await database.drop();
  rmSync(folder, { recursive: true });
});

const write = (name: string, sql: string): void => {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, 'migration.sql'), sql);
};
const run = () => migrate(database.url, folder);
const tables = async () =>
  (
    await client.query(
      `select table_name as name from information_schema.tables where table_schema = 'public' order by 1`,
    )
  ).rows.map(({ name }: { name: string }) => name);
const recorded = async () =>
  (
    await client.query(
      `select migration_name as name, finished_at is not null as finished from "_prisma_migrations" order by 1`,
    )
  ).rows;

test('applies what is new, in the order of names, once', async () => {
  write('20260102_second', 'alter table one add column b int;');
  write('20260101_first', 'create table one (a int);');
  writeFileSync(join(folder, 'migration_lock.toml'), 'provider = "postgresql"\n');
  expect(await run()).toEqual(['20260101_first', '20260102_second']);
  expect(await run()).toEqual([]);
  write('20260103_third', 'alter table one add column c int;');
  expect(await run()).toEqual(['20260103_third']);
  await client.query('select a, b, c from one');
  expect(await recorded()).toEqual([
    { name: '20260101_first', finished: true },
    { name: '20260102_second', finished: true },
    { name: '20260103_third', finished: true },
  ]);
});

test('runs functions and several statements of one file as they are', async () => {
  write(
    '1_function',
    `create function one() returns int language plpgsql as $$ begin perform 1; return 1; end; $$; select one();`,
  );
  expect(await run()).toEqual(['1_function']);
});

test('of several at once one applies, the others wait and find nothing to do', async () => {
  write('1_slow', 'select pg_sleep(0.3); create table slow (a int);');
  write('2_next', 'create table next (a int);');
  const applied = await Promise.all([run(), run(), run(), run()]);
  expect(applied.flat().sort()).toEqual(['1_slow', '2_next']);
});

test('steps aside while a table that it changes is in use: others are not held up by its waiting', async () => {
  write('1_first', 'create table one (a int);');
  await run();
  write('2_second', 'alter table one add column b int;');
  const reader = new pg.Client({ connectionString: database.url });
  await reader.connect();
  try {
    await reader.query('begin; select * from one');
    const migrated = run();
    await waitUntil(
      async () => (await client.query('select 1 from pg_locks where not granted')).rowCount === 1,
    );
    const startedAt = performance.now();
    await client.query('select * from one');
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await reader.query('commit');
    expect(await migrated).toEqual(['2_second']);
  } finally {
    await reader.end();
  }
});

describe('refuses', () => {
  test('to go on after a migration that was edited, and applies nothing', async () => {
    write('1_first', 'create table one (a int);');
    await run();
    write('1_first', 'create table one (a bigint);');
    write('2_second', 'create table two (a int);');
    await expect(run()).rejects.toThrow('1_first was edited after it was applied');
    expect(await tables()).toEqual(['_prisma_migrations', 'one']);
  });

  test('to go on after a migration that another tool began and never finished', async () => {
    write('1_first', 'create table one (a int);');
    await run();
    await client.query(`update "_prisma_migrations" set finished_at = null`);
    await expect(run()).rejects.toThrow('1_first was begun and never finished');
  });

  test('a folder that is not there', async () => {
    await expect(migrate(database.url, join(folder, 'nowhere'))).rejects.toThrow('ENOENT');
  });
});

test('a migration that fails leaves nothing of itself, keeps what came before, and can be mended', async () => {
  write('1_first', 'create table one (a int);');
  write('2_second', 'create table two (a int); insert into nowhere values (1);');
  await expect(run()).rejects.toThrow(/^migration 2_second failed: relation "nowhere" does not exist/);
  expect(await tables()).toEqual(['_prisma_migrations', 'one']);
  expect(await recorded()).toEqual([{ name: '1_first', finished: true }]);
  write('2_second', 'create table two (a int);');
  expect(await run()).toEqual(['2_second']);
});

test('a database that is newer than the files is left alone: a service can be rolled back', async () => {
  write('1_first', 'create table one (a int);');
  write('2_second', 'create table two (a int);');
  await run();
  rmSync(join(folder, '2_second'), { recursive: true });
  expect(await run()).toEqual([]);
});
