import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../machine/free-port.ts';
import { endLeftBehind, ProcessLedger } from '../processes/process-ledger.ts';
import { startKafka } from '../kafka/start-kafka.ts';
import { startPostgres } from '../postgres/start-postgres.ts';
import { startReaper } from '../processes/start-reaper.ts';

export interface ThrowawayStack {
  /** Of the superuser. */
  postgresUrl: string;
  /** Empty without Kafka. */
  brokers: string[];
  ledger: ProcessLedger;
  /** Of its own processes; undefined where they are not ours. */
  pids: { postgres: number; kafka: number | undefined };
}

interface StackOptions {
  kafka: boolean;
  /** With the settings of the local platform: what is committed has reached the disk. */
  durable?: boolean;
  signal: AbortSignal;
  /** Called when all is up. */
  onReady?: () => void;
}

/** Runs the work with a Postgres (and a Kafka) of its own, which are gone afterwards with all their data. */
export async function withThrowawayStack<T>(
  { kafka, durable = false, signal, onReady }: StackOptions,
  work: (stack: ThrowawayStack) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'assistance-test-'));
  chmodSync(folder, 0o755); // Postgres runs as another user than root
  const ledger = new ProcessLedger(join(folder, 'processes.json'));
  startReaper(ledger, [folder]);
  const endAll = () => {
    ledger.close();
    void endLeftBehind(ledger.file);
  };
  signal.addEventListener('abort', endAll, { once: true });
  const starting = [
    startThrowawayPostgres(folder, ledger, durable),
    kafka ? startThrowawayKafka(folder, ledger) : noKafka(),
  ] as const;
  try {
    const [postgres, { brokers, pid }] = await Promise.all(starting);
    signal.throwIfAborted();
    onReady?.();
    const pids = { postgres: postgres.pid, kafka: pid };
    return await work({ postgresUrl: postgres.url, brokers, ledger, pids });
  } finally {
    signal.removeEventListener('abort', endAll);
    const started = await Promise.allSettled(starting);
    await Promise.all(
      started.map(async (outcome) => {
        if (outcome.status === 'fulfilled') await outcome.value.stop();
      }),
    );
    await endLeftBehind(ledger.file);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function startThrowawayPostgres(folder: string, ledger: ProcessLedger, durable: boolean) {
  return startPostgres({
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    password: randomBytes(12).toString('hex'),
    logFile: join(folder, 'postgres.log'),
    ledger,
    // The data is thrown away, so it need not reach the disk.
    settings: [
      'max_connections=300',
      ...(durable ? [] : ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off']),
    ],
  });
}

async function startThrowawayKafka(folder: string, ledger: ProcessLedger) {
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
  return { brokers, pid: running?.pid, stop: async () => running?.stop() };
}

async function noKafka() {
  return { brokers: [], pid: undefined, stop: async () => {} };
}
