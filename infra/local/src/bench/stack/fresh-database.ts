import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { migrate } from '@assistance/service-kit';
import { Client, escapeIdentifier } from 'pg';
import { paths } from '../../machine/paths.ts';
import type { Service } from '../../platform/services.ts';
import type { ThrowawayStack } from '../../test-run/throwaway-stack.ts';

/** A database of a service, migrated and empty. */
export async function freshDatabase({ postgresUrl }: ThrowawayStack, service: Service): Promise<string> {
  const url = new URL(postgresUrl);
  const name = `bench_${service.replaceAll('-', '_')}_${randomBytes(4).toString('hex')}`;
  const client = new Client({ connectionString: postgresUrl });
  await client.connect();
  try {
    await client.query(`create database ${escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
  url.pathname = `/${name}`;
  await migrate(url.toString(), join(paths.apps, service, 'prisma', 'migrations'));
  return url.toString();
}

/** Runs statements that seed or look, over a connection of their own. */
export async function withDatabase<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
