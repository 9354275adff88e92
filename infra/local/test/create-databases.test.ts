import { expect, test } from '@jest/globals';
import { Client } from 'pg';
import { createDatabases, databaseUrl } from '../src/postgres/create-databases.ts';
import { services, type Service } from '../src/platform/services.ts';

const superuserUrl = process.env['TEST_POSTGRES_URL']!;
const passwords = { applications: 'a', subscriptions: 'b', 'webhook-dispatcher': 'c' };

async function connect(url: string): Promise<string> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query('select current_database() as name')).rows[0].name;
  } finally {
    await client.end();
  }
}

test('each role connects to its own database and to no other, however often they are made', async () => {
  await createDatabases(superuserUrl, passwords);
  await createDatabases(superuserUrl, passwords);
  const urlOf = (service: Service) => databaseUrl(superuserUrl, service, passwords[service]);
  for (const service of services) {
    expect(await connect(urlOf(service))).toBe(service.replace('-', '_'));
    const others = [
      ...services.filter((other) => other !== service).map((other) => new URL(urlOf(other)).pathname),
      '/postgres',
    ];
    for (const other of others) {
      const foreign = new URL(urlOf(service));
      foreign.pathname = other;
      await expect(connect(foreign.toString())).rejects.toThrow('permission denied for database');
    }
  }
});
