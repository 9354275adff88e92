// npm run schemathesis: a platform of its own, and Schemathesis against the description that each interface serves, with
// good and bad tokens. CASES (10000) at least; SEED (1) repeats a run. Exit code 0 only if every answer is as described.
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { freePort } from './machine/free-port.ts';
import { MachineFault } from './machine/machine-fault.ts';
import { localDirOf } from './machine/paths.ts';
import { Progress, seconds } from './machine/progress.ts';
import { LocalPlatform } from './platform/local-platform.ts';
import { endLeftBehind, ProcessLedger } from './processes/process-ledger.ts';
import { runUntilStopped } from './processes/run-until-stopped.ts';
import { furnish } from './schemathesis/furnish.ts';
import { pythonEnvironment } from './schemathesis/python-environment.ts';
import { runRounds } from './schemathesis/run-rounds.ts';

/** Of all answers: more 503 than this say that the platform, or the machine, was not well. */
const mostUnavailable = 0.01;

const settings = z
  .object({ CASES: z.coerce.number().int().min(1).default(10_000), SEED: z.coerce.number().int().default(1) })
  .safeParse(process.env);
await runUntilStopped((signal) => {
  if (!settings.success) throw new MachineFault('CASES and SEED are whole numbers; CASES is at least 1.');
  return main(settings.data.CASES, settings.data.SEED, signal);
});

async function main(cases: number, seed: number, signal: AbortSignal): Promise<number> {
  const startedAt = performance.now();
  const progress = new Progress();
  const kept = join(localDirOf(process.env), 'schemathesis');
  const folder = mkdtempSync(join(tmpdir(), 'assistance-schemathesis-'));
  chmodSync(folder, 0o755); // Postgres runs as another user than root
  mkdirSync(kept, { recursive: true });
  const ledger = new ProcessLedger(join(folder, 'tools.json'));
  const platform = await newPlatform(folder, progress);
  const endAll = () => {
    ledger.close();
    void endLeftBehind(ledger.file);
    void platform.close();
  };
  signal.addEventListener('abort', endAll);
  try {
    const [st, addresses] = await Promise.all([
      progress.step('Schemathesis', () => pythonEnvironment(join(kept, 'python'), ledger)),
      platform.open(),
    ]);
    await progress.step('Something to be found', () => furnish(addresses));
    const round = { st, platform: addresses, folder, ledger, progress, signal };
    const tried = await runRounds(round, { cases, seed });
    const { faults, answers } = tried;
    const unavailable = (answers['503'] ?? 0) / Object.values(answers).reduce((sum, n) => sum + n, 0);
    const result = {
      at: new Date().toISOString(),
      ...{ seed, cases: tried.cases, faulty: faults.length, answers },
      took: seconds(performance.now() - startedAt),
    };
    appendFileSync(join(kept, 'results.jsonl'), `${JSON.stringify(result)}\n`);
    for (const fault of faults) progress.say(`\n${fault}`);
    progress.say(JSON.stringify(result, null, 2));
    if (unavailable > mostUnavailable) progress.say('Too much was unavailable (503); see the answers above.');
    return faults.length === 0 && unavailable <= mostUnavailable ? 0 : 1;
  } finally {
    progress.end();
    signal.removeEventListener('abort', endAll);
    await platform.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As `npm start` has it; but a limit of requests would hide what is behind it. */
async function newPlatform(folder: string, progress: Progress): Promise<LocalPlatform> {
  const { KAFKA_TOPIC_PREFIX: _prefix, ...environment } = process.env;
  return new LocalPlatform(
    {
      ...{ port: await freePort(), instances: 1, deployment: 'sandbox', once: false },
      localDir: join(folder, 'platform'),
    },
    {
      ...environment,
      RATE_LIMIT_PER_SECOND: '1000000',
      // With brokers of one's own, which other runs may have used.
      ...(environment['KAFKA_BROKERS'] ? { KAFKA_TOPIC_PREFIX: `${basename(folder)}.` } : {}),
    },
    progress,
  );
}
