import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { startTimeOf } from './start-time-of.ts';

const entries = z.array(z.object({ name: z.string(), pid: z.number().int(), startTime: z.string() }));
type Entry = z.infer<typeof entries>[number];

/** Which processes are ours, on disk, so that whoever comes after a SIGKILL can end what was left. */
export class ProcessLedger {
  readonly #file: string;
  #entries: Entry[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  record(name: string, pid: number): void {
    this.#entries.push({ name, pid, startTime: startTimeOf(pid) ?? '' });
    this.#write();
  }

  forget(pid: number): void {
    this.#entries = this.#entries.filter((entry) => entry.pid !== pid);
    this.#write();
  }

  #write(): void {
    if (this.#entries.length === 0) return rmSync(this.#file, { force: true });
    const text = JSON.stringify(this.#entries, null, 2);
    writeFileSync(`${this.#file}.new`, text, { mode: 0o600 });
    renameSync(`${this.#file}.new`, this.#file);
  }
}

/** The processes in the ledger that still run. A pid that meanwhile belongs to somebody else is none of them. */
export function leftBehind(file: string): Entry[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  const parsed = entries.safeParse(parseJson(text));
  return parsed.success ? parsed.data.filter(isAlive) : [];
}

/** Ends what the ledger names: asks with SIGINT (to Postgres: stop now), kills after 5 s. Returns their names. */
export async function endLeftBehind(file: string): Promise<string[]> {
  const found = leftBehind(file);
  for (const entry of found) send(entry, 'SIGINT', 'SIGCONT');
  const deadline = Date.now() + 5_000;
  while (found.some(isAlive)) {
    if (Date.now() > deadline) for (const entry of found) send(entry, 'SIGKILL');
    await sleep(50);
  }
  rmSync(file, { force: true });
  return found.map((entry) => entry.name);
}

function isAlive(entry: Entry): boolean {
  return startTimeOf(entry.pid) === entry.startTime;
}

function send(entry: Entry, ...signals: NodeJS.Signals[]): void {
  for (const signal of signals) {
    try {
      if (isAlive(entry)) process.kill(entry.pid, signal);
    } catch {
      // It ended between the look and the signal.
    }
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
