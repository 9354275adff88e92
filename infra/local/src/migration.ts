// npm run migration -- <service> <name>   writes the migration that leads to the service's schema.prisma
// npm run migration -- check              fails when a schema and its migrations disagree
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { diffMigrations } from './postgres/diff-migrations.ts';
import { MachineFault } from './machine/machine-fault.ts';
import { paths } from './machine/paths.ts';
import { runUntilStopped } from './processes/run-until-stopped.ts';
import { withThrowawayStack } from './test-run/throwaway-stack.ts';

const prismaDirOf = (service: string) => join(paths.apps, service, 'prisma');
const services = readdirSync(paths.apps).filter((app) => existsSync(join(prismaDirOf(app), 'schema.prisma')));
const usage = `Usage: npm run migration -- check
       npm run migration -- <${services.join('|')}> <name-of-the-change>`;

await runUntilStopped((signal) => main(process.argv.slice(2), signal));

async function main([service, name]: string[], signal: AbortSignal): Promise<number> {
  if (service === 'check' && name === undefined) return withPostgres(check, signal);
  if (service === undefined || name === undefined || !services.includes(service))
    throw new MachineFault(usage);
  if (!/^[a-z0-9]+([-_][a-z0-9]+)*$/.test(name)) {
    throw new MachineFault(`"${name}" is no name for a migration: lower-case words joined by - or _.`);
  }
  return withPostgres((url) => create(service, name, url), signal);
}

async function withPostgres(work: (url: string) => Promise<number>, signal: AbortSignal): Promise<number> {
  const given = process.env['TEST_POSTGRES_URL'];
  if (given !== undefined) return work(given);
  return withThrowawayStack({ kafka: false, signal }, ({ postgresUrl }) => work(postgresUrl));
}

async function create(service: string, name: string, url: string): Promise<number> {
  const sql = await diffMigrations(prismaDirOf(service), url);
  if (sql === null) {
    console.log(
      `The migrations of ${service} already lead to its schema. Change prisma/schema.prisma first.`,
    );
    return 0;
  }
  const time = new Date().toISOString().replace(/\D/g, '').slice(0, 14);
  const folder = join(prismaDirOf(service), 'migrations', `${time}_${name.replaceAll('-', '_')}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'migration.sql'), sql);
  console.log(
    `Wrote ${join(folder, 'migration.sql')}. Read it before you commit it: is it safe for a running service?`,
  );
  return 0;
}

async function check(url: string): Promise<number> {
  let drifted = 0;
  for (const service of services) {
    const sql = await diffMigrations(prismaDirOf(service), url);
    if (sql === null) {
      console.log(`${service}: schema and migrations agree`);
      continue;
    }
    drifted++;
    console.error(`${service}: the migrations do not lead to schema.prisma. Missing:\n${sql}`);
    console.error(`Make it with: npm run migration -- ${service} <name-of-the-change>`);
  }
  return drifted === 0 ? 0 : 1;
}
