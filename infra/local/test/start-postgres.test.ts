import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePort } from '../src/machine/free-port.ts';
import { ProcessLedger } from '../src/processes/process-ledger.ts';
import { startPostgres, type PostgresOptions } from '../src/postgres/start-postgres.ts';
import { startTimeOf } from '../src/processes/start-time-of.ts';

let folder: string;
let options: PostgresOptions;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'start-postgres-'));
  chmodSync(folder, 0o755);
  options = {
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    password: 'secret',
    logFile: join(folder, 'postgres.log'),
    ledger: new ProcessLedger(join(folder, 'processes.json')),
  };
});

afterAll(() => rmSync(folder, { recursive: true }));

test('an orphan that holds the data folder is ended, and one killed hard is recovered from', async () => {
  const orphan = await startPostgres(options);
  const second = await startPostgres(options);
  expect(startTimeOf(orphan.pid)).toBeUndefined();
  process.kill(second.pid, 'SIGKILL');
  await second.exited;
  const third = await startPostgres(options);
  await third.stop();
  expect(startTimeOf(third.pid)).toBeUndefined();
});

test('a data folder of another version is a fault that says what to do', async () => {
  const dataDir = join(folder, 'old');
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'PG_VERSION'), '16\n');
  await expect(startPostgres({ ...options, dataDir })).rejects.toThrow(
    /data folder of Postgres 16; this platform runs Postgres 18.*npm run reset/s,
  );
});
