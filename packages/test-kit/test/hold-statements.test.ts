import { expect, test } from '@jest/globals';
import { Client } from 'pg';
import { createTestDatabase, holdStatements } from '../src/index.ts';

test('a statement is held before it changes anything; abandoned it leaves nothing, released it goes on', async () => {
  const database = await createTestDatabase({
    template: 'hold',
    migrate: async (url) => {
      const client = new Client({ connectionString: url });
      await client.connect();
      await client.query('create table thing (id int)');
      await client.end();
    },
  });
  const open = async () => {
    const client = new Client({ connectionString: database.url });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  const [doomed, spared] = [await open(), await open()];
  const hold = await holdStatements({ databaseUrl: database.url, table: 'thing', on: 'insert' });
  const first = doomed.query('insert into thing values (1)');
  const refused = expect(first).rejects.toThrow();
  await hold.reached();
  await hold.abandon();
  await refused;
  const second = spared.query('insert into thing values (2)');
  await hold.reached();
  await hold.release();
  await second;
  await spared.query('insert into thing values (3)');
  const { rows } = await spared.query('select id from thing order by id');
  expect(rows).toEqual([{ id: 2 }, { id: 3 }]);
  await spared.end();
  await database.drop();
});
