import { Client, escapeIdentifier, escapeLiteral } from 'pg';
import { services, type Service } from '../platform/services.ts';

/** A database and a role for each service; no role may connect to another's database. Safe to run again. */
export async function createDatabases(
  superuserUrl: string,
  passwords: Record<Service, string>,
): Promise<void> {
  const client = new Client({ connectionString: superuserUrl });
  await client.connect();
  try {
    for (const service of services) await createDatabase(client, service, passwords[service]);
    await client.query('revoke all on database postgres from public');
  } finally {
    await client.end();
  }
}

export function databaseUrl(superuserUrl: string, service: Service, password: string): string {
  const url = new URL(superuserUrl);
  url.username = nameOf(service);
  url.password = password;
  url.pathname = `/${nameOf(service)}`;
  return url.toString();
}

async function createDatabase(client: Client, service: Service, password: string): Promise<void> {
  const name = nameOf(service);
  const quoted = escapeIdentifier(name);
  const role = await client.query('select 1 from pg_roles where rolname = $1', [name]);
  const verb = role.rowCount === 0 ? 'create' : 'alter';
  await client.query(`${verb} role ${quoted} login password ${escapeLiteral(password)}`);
  const database = await client.query('select 1 from pg_database where datname = $1', [name]);
  if (database.rowCount === 0) await client.query(`create database ${quoted} owner ${quoted}`);
  await client.query(`revoke all on database ${quoted} from public`);
}

const nameOf = (service: Service) => service.replaceAll('-', '_');
