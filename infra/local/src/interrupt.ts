// npm run interrupt: strikes `npm start` at random moments, also while it installs, with Ctrl-C and with SIGKILL, in a
// clone of its own, and looks for what is left behind. MOMENTS (10) and SEED (1) repeat a run.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from './chaos/seeded-random.ts';
import { freePort } from './machine/free-port.ts';
import { paths } from './machine/paths.ts';
import { processesOf } from './processes/processes-of.ts';

const SECONDS = { toInstall: 25, toStart: 14, toEnd: 20 };

const moments = Number(process.env['MOMENTS'] ?? 10);
const seed = Number(process.env['SEED'] ?? 1);
const random = seededRandom(seed);
const clone = mkdtempSync(join(tmpdir(), 'assistance-interrupt-'));
chmodSync(clone, 0o755); // Postgres runs as another user than root
process.exitCode = await main().finally(() => rmSync(clone, { recursive: true, force: true }));

async function main(): Promise<number> {
  execFileSync('git', ['clone', '--quiet', paths.root, clone]);
  const port = await freePort();
  let left = 0;
  for (let n = 1; n <= moments; n++) {
    const installing = n % 2 === 1;
    if (installing) rmSync(join(clone, 'node_modules'), { recursive: true, force: true });
    const afterMs = Math.round(random() * 1_000 * (installing ? SECONDS.toInstall : SECONDS.toStart));
    const signal = random() < 0.5 ? 'SIGINT' : 'SIGKILL';
    const child = npmStart(port);
    await sleep(afterMs);
    strike(child, signal);
    const rest = await restAfter(SECONDS.toEnd * 1_000);
    if (rest.length > 0) left++;
    const found = rest.length === 0 ? 'nothing left' : `left behind:\n  ${rest.join('\n  ')}`;
    const during = installing ? 'while installing or starting' : 'while starting or running';
    console.log(
      `${n}/${moments}  ${signal.padEnd(7)} after ${(afterMs / 1_000).toFixed(1)} s, ${during}: ${found}`,
    );
    for (const line of rest) process.kill(Number(line.split(' ')[0]), 'SIGKILL');
  }
  const [code] = (await once(npmStart(port, '--', '--once'), 'exit')) as [number | null];
  console.log(`The next start after all of them ends with ${code}.`);
  return left === 0 && code === 0 ? 0 : 1;
}

function npmStart(port: number, ...args: string[]): ChildProcess {
  const { NODE_OPTIONS: _ours, ...environment } = process.env;
  return spawn('npm', ['--silent', 'start', ...args], {
    cwd: clone,
    env: { ...environment, PORT: String(port) },
    stdio: 'ignore',
    detached: true,
  });
}

/** Ctrl-C reaches the whole foreground group; SIGKILL the supervisor alone or, before it is there, whoever leads. */
function strike(child: ChildProcess, signal: 'SIGINT' | 'SIGKILL'): void {
  const supervisor = processesOf(clone).find((line) => line.includes('src/start.ts'));
  const target = signal === 'SIGINT' ? -child.pid! : Number(supervisor?.split(' ')[0] ?? child.pid);
  try {
    process.kill(target, signal);
  } catch {
    // It had ended by itself.
  }
}

/** What still runs of the clone when there should be nothing; returns as soon as nothing does. */
async function restAfter(timeoutMs: number): Promise<string[]> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const rest = processesOf(clone);
    if (rest.length === 0 || performance.now() > deadline) return rest;
    await sleep(100);
  }
}
