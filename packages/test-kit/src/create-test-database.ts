import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Client, escapeIdentifier } from 'pg';
import { testAddress } from './test-address.ts';

export interface TestDatabaseOptions {
  /** Names the template: the service whose tables it holds. */
  template: string;
  /** Makes the tables in the empty database at `url`, and closes its connections. Called once per run. */
  migrate: (url: string) => Promise<unknown>;
  /** What the template is made from; a change of its files makes a new one. Default: `prisma/migrations`. */
  migrationsDir?: string;
}

export interface TestDatabase {
  /** As the role that owns the database and is nothing more, as in production. */
  url: string;
  drop(): Promise<void>;
}

/** A database of one's own, cloned from a migrated template in some 50 ms. */
export async function createTestDatabase(options: TestDatabaseOptions): Promise<TestDatabase> {
  const { template, migrate, migrationsDir = join('prisma', 'migrations') } = options;
  const role = identifier(`test_${template}`);
  const templateName = identifier(`template_${template}_${digestOf(migrationsDir)}`);
  const name = identifier(`test_${template}_${randomBytes(6).toString('hex')}`);
  await asSuperuser(async (client) => {
    await makeTemplateOnce(client, { role, templateName, migrate });
    await createDatabase(client, name, role, templateName);
  });
  return {
    url: urlOf(name, role),
    drop: () =>
      asSuperuser(async (client) => {
        await client.query(`drop database if exists ${escapeIdentifier(name)} with (force)`);
      }),
  };
}

/** Of all test processes that want the template, one makes it; a half-made one bears another name. */
async function makeTemplateOnce(
  client: Client,
  made: { role: string; templateName: string; migrate: (url: string) => Promise<unknown> },
): Promise<void> {
  const { role, templateName, migrate } = made;
  await client.query('select pg_advisory_lock(hashtext($1))', [templateName]);
  try {
    const found = await client.query('select 1 from pg_database where datname = $1', [templateName]);
    if (found.rowCount === 1) return;
    const roles = await client.query('select 1 from pg_roles where rolname = $1', [role]);
    if (roles.rowCount === 0)
      await client.query(`create role ${escapeIdentifier(role)} login password 'test'`);
    const making = identifier(`making_${templateName}`);
    await client.query(`drop database if exists ${escapeIdentifier(making)} with (force)`);
    await createDatabase(client, making, role, 'template0');
    await migrate(urlOf(making, role));
    await client.query(
      `alter database ${escapeIdentifier(making)} rename to ${escapeIdentifier(templateName)}`,
    );
  } finally {
    await client.query('select pg_advisory_unlock(hashtext($1))', [templateName]);
  }
}

async function createDatabase(client: Client, name: string, owner: string, template: string): Promise<void> {
  const [database, role, source] = [name, owner, template].map((part) => escapeIdentifier(part));
  await client.query(`create database ${database} owner ${role} template ${source}`);
  await client.query(`revoke all on database ${database} from public`);
}

async function asSuperuser<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: testAddress('TEST_POSTGRES_URL') });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function urlOf(database: string, role: string): string {
  const url = new URL(testAddress('TEST_POSTGRES_URL'));
  url.username = role;
  url.password = 'test';
  url.pathname = `/${database}`;
  return url.toString();
}

function digestOf(folder: string): string {
  const hash = createHash('sha256');
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort() : [];
  for (const file of files) {
    const path = join(folder, file);
    if (statSync(path).isFile()) hash.update(`${file}\0`).update(readFileSync(path)).update('\0');
  }
  return hash.digest('hex').slice(0, 8);
}

/** Postgres cuts longer names off without a word. */
function identifier(name: string): string {
  return name.replaceAll('-', '_').slice(0, 63);
}
