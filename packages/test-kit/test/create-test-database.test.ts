import { expect, test } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase } from '../src/index.ts';

async function query(url: string, sql: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

const template = 'test-kit';
let migrations = 0;
const migrate = async (url: string) => {
  migrations++;
  await query(url, 'create table thing (id int primary key)');
};

test('each database is a clone of one template, and knows nothing of the others', async () => {
  const databases = await Promise.all([1, 2, 3].map(() => createTestDatabase({ template, migrate })));
  const [first, second] = databases;
  await query(first!.url, 'insert into thing values (1)');
  expect(await query(first!.url, 'select id from thing')).toEqual([{ id: 1 }]);
  expect(await query(second!.url, 'select id from thing')).toEqual([]);
  expect(migrations).toBeLessThanOrEqual(1);
  await Promise.all(databases.map((database) => database.drop()));
  await expect(query(first!.url, 'select 1')).rejects.toThrow('does not exist');
});

test('the role owns its database and is no superuser', async () => {
  const database = await createTestDatabase({ template, migrate });
  await query(database.url, 'alter table thing add column name text');
  expect(await query(database.url, `select rolsuper from pg_roles where rolname = current_user`)).toEqual([
    { rolsuper: false },
  ]);
  await database.drop();
});

test('the role of another service cannot connect', async () => {
  const [ours, theirs] = await Promise.all([
    createTestDatabase({ template, migrate }),
    createTestDatabase({ template: 'test-kit-other', migrate: async () => {} }),
  ]);
  const intruder = new URL(theirs.url);
  intruder.pathname = new URL(ours.url).pathname;
  await expect(query(intruder.toString(), 'select 1')).rejects.toThrow('permission denied for database');
  await Promise.all([ours.drop(), theirs.drop()]);
});
