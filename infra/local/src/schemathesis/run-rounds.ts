import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Progress } from '../machine/progress.ts';
import type { Platform } from '../platform/platform-file.ts';
import type { ProcessLedger } from '../processes/process-ledger.ts';
import { runQuietly } from '../processes/run-quietly.ts';
import { tokenOf } from './furnish.ts';

/** Of random cases for each operation in a round; the systematic ones come on top. */
const examples = { allowed: 20, refused: 5 };

const interfaces = ['applications', 'events', 'deliveries'] as const;

interface Credentials {
  name: string;
  /** Absent: there is no Authorization header. */
  token?(platform: Platform): Promise<string> | string;
  refusedWith?: 401 | 403;
}

const allowed: Credentials = { name: 'a good token', token: (platform) => tokenOf(platform, 'partner') };
const refused: Credentials[] = [
  { name: 'no token', refusedWith: 401 },
  { name: 'a garbled token', token: garbled, refusedWith: 401 },
  { name: 'a token without scopes', token: (platform) => tokenOf(platform, 'nobody'), refusedWith: 403 },
];

const report = z.object({ test_cases: z.object({ generated: z.int(), with_failures: z.int() }) });
const statusCounts = z.record(z.string(), z.int());

export interface Round {
  st: string;
  platform: Platform;
  /** For what Schemathesis prints and writes. */
  folder: string;
  ledger: ProcessLedger;
  progress: Progress;
  signal: AbortSignal;
}

export interface Tried {
  cases: number;
  answers: Record<string, number>;
  /** What Schemathesis says of what does not hold, of each of its runs that found something. */
  faults: string[];
}

/**
 * Runs Schemathesis against each interface with a token that may do everything and with one that is refused, in rounds of
 * rising seeds, until there were so many cases; three rounds show each refused token to each interface.
 */
export async function runRounds(
  round: Round,
  { cases, seed }: { cases: number; seed: number },
): Promise<Tried> {
  const tried: Tried = { cases: 0, answers: {}, faults: [] };
  for (let n = 0; tried.cases < cases; n++) {
    for (const [place, name] of interfaces.entries()) {
      for (const credentials of [allowed, refused[(n + place) % refused.length]!]) {
        round.signal.throwIfAborted();
        const one = await runOnce(round, name, credentials, seed + n);
        tried.cases += one.cases;
        tried.faults.push(...one.faults);
        for (const [status, count] of Object.entries(one.answers))
          tried.answers[status] = (tried.answers[status] ?? 0) + count;
      }
    }
  }
  return tried;
}

async function runOnce(
  { st, platform, folder, ledger, progress }: Round,
  name: (typeof interfaces)[number],
  { name: who, token, refusedWith }: Credentials,
  seed: number,
): Promise<Tried> {
  const title = `${name} with ${who}, seed ${seed}`;
  const files = { report: join(folder, 'report.json'), statuses: join(folder, 'statuses.json') };
  const bearer = await token?.(platform);
  const run = () =>
    runQuietly({
      name: 'schemathesis',
      command: st,
      args: [
        ...['--no-color', '--config-file', join(import.meta.dirname, 'schemathesis.toml')],
        ...['run', `${platform[name]}/openapi.json`, '--url', platform[name], '--seed', String(seed)],
        ...(bearer === undefined ? [] : ['--header', `Authorization: Bearer ${bearer}`]),
        ...['--max-examples', String(refusedWith === undefined ? examples.allowed : examples.refused)],
        ...(refusedWith === undefined ? [] : ['--phases', 'coverage,fuzzing']),
        ...['--report', 'json', '--report-json-path', files.report],
      ],
      cwd: folder,
      env: {
        ...process.env,
        SCHEMATHESIS_HOOKS: join(import.meta.dirname, 'checks.py'),
        PYTHONDONTWRITEBYTECODE: '1',
        STATUSES_FILE: files.statuses,
        ...(refusedWith === undefined ? {} : { REFUSED_WITH: String(refusedWith) }),
      },
      ledger,
    });
  const { code, output } = await progress.step(title, run, (done) => done.code === 0);
  if (code !== 0 && code !== 1) throw new Error(`${title}: Schemathesis ended with ${code}.\n${output}`);
  return {
    cases: report.parse(JSON.parse(readFileSync(files.report, 'utf8'))).test_cases.generated,
    answers: statusCounts.parse(JSON.parse(readFileSync(files.statuses, 'utf8'))),
    faults: code === 0 ? [] : [`${title}\n${output}`],
  };
}

/** Signed by the right issuer, then changed in its last byte but one: the very last one may carry unused bits. */
async function garbled(platform: Platform): Promise<string> {
  const token = await tokenOf(platform, 'partner');
  return token.slice(0, -2) + (token.at(-2) === 'A' ? 'B' : 'A') + token.at(-1);
}
