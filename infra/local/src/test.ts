// npm test [-- turbo's arguments, e.g. --filter=@assistance/types]
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countTests } from './count-tests.ts';
import { freePort } from './free-port.ts';
import { MachineFault } from './machine-fault.ts';
import { ProcessLedger } from './process-ledger.ts';
import { Progress, seconds } from './progress.ts';
import { runCommand } from './run-command.ts';
import { startKafka } from './start-kafka.ts';
import { startPostgres } from './start-postgres.ts';
import { onStopSignal } from './stop-signal.ts';
import { turbo } from './turbo.ts';

const startedAt = performance.now();
const stopping = new AbortController();
onStopSignal(() => stopping.abort());
process.exitCode = await runTests(process.argv.slice(2));

/** One Postgres and one Kafka for all tests of the run, gone afterwards with all their data. */
async function runTests(args: string[]): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'assistance-test-'));
  chmodSync(folder, 0o755); // Postgres runs as another user than root
  const ledger = new ProcessLedger(join(folder, 'processes.json'));
  const progress = new Progress();
  const stops: (() => Promise<void>)[] = [];
  try {
    const [postgres, kafka] = await progress.step('Postgres and Kafka for the tests', async () => {
      const starting = [startTestPostgres(folder, ledger), startTestKafka(folder, ledger)] as const;
      for (const start of starting) void start.then(({ stop }) => stops.push(stop)).catch(() => {});
      await Promise.allSettled(starting);
      return Promise.all(starting);
    });
    stopping.signal.throwIfAborted();
    const environment = {
      TEST_POSTGRES_URL: postgres.url,
      TEST_KAFKA_BROKERS: kafka.brokers,
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --experimental-vm-modules --disable-warning=ExperimentalWarning`,
    };
    let output = '';
    const run = async (...turboArgs: string[]) => {
      const command = turbo('run', ...turboArgs, ...args);
      const env = { ...command.env, ...environment };
      const result = await runCommand({ ...command, env, ledger, signal: stopping.signal });
      output += result.output;
      return result.code;
    };
    const tests = await run('test', '--concurrency=2', '--continue');
    const platform = stopping.signal.aborted
      ? 1
      : await run('test:platform', '--concurrency=1', '--env-mode=loose');
    const { passed, failed } = countTests(output);
    console.log(`\nAll tests took ${seconds(performance.now() - startedAt)}.`);
    console.log(`${passed} passed, ${failed} failed`);
    return tests === 0 && platform === 0 && failed === 0 ? 0 : 1;
  } catch (error) {
    if (stopping.signal.aborted) return 130;
    if (!(error instanceof MachineFault)) throw error;
    console.error(`\n${error.message}`);
    return 1;
  } finally {
    await Promise.all(stops.map((stop) => stop()));
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startTestPostgres(folder: string, ledger: ProcessLedger) {
  return startPostgres({
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    password: randomBytes(12).toString('hex'),
    logFile: join(folder, 'postgres.log'),
    ledger,
    // The data is thrown away, so it need not reach the disk.
    settings: ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=300'],
  });
}

async function startTestKafka(folder: string, ledger: ProcessLedger) {
  const { brokers, process: running } = await startKafka(
    {
      dataDir: join(folder, 'kafka'),
      port: await freePort(),
      controllerPort: await freePort(),
      logFile: join(folder, 'kafka.log'),
      ledger,
    },
    process.env,
  );
  return { brokers: brokers.join(','), stop: async () => running?.stop() };
}
