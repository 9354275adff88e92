import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { KeptFile } from '../machine/kept-file.ts';
import { startTimeOf } from './start-time-of.ts';

const entries = z.array(z.object({ name: z.string(), pid: z.number().int(), startTime: z.string() }));
type Entry = z.infer<typeof entries>[number];

const politeForMs = 5_000;

/** Which processes are ours, on disk, so that whoever comes after a SIGKILL can end what was left. */
export class ProcessLedger {
  readonly #kept: KeptFile;
  #entries: Entry[] = [];
  #closed = false;

  constructor(file: string) {
    this.#kept = new KeptFile(file);
  }

  get file(): string {
    return this.#kept.path;
  }

  /** Throws once the ledger is closed: then nothing more may be started. */
  checkOpen(): void {
    if (this.#closed) throw new Error('Everything is being stopped');
  }

  /** The process leads a group of its own; the whole group counts as ours. */
  record(name: string, pid: number): void {
    this.#entries.push({ name, pid, startTime: startTimeOf(pid) ?? '' });
    this.#write();
  }

  forget(pid: number): void {
    this.#entries = this.#entries.filter((entry) => entry.pid !== pid);
    this.#write();
  }

  close(): void {
    this.#closed = true;
  }

  #write(): void {
    if (this.#entries.length === 0) this.#kept.remove();
    else this.#kept.write(this.#entries);
  }
}

/** Ends what the ledger names: asks with SIGINT (to Postgres: stop now), kills after 5 s. Returns their names. */
export async function endLeftBehind(ledgerFile: string): Promise<string[]> {
  const found = leftBehind(ledgerFile);
  for (const entry of found) send(entry, 'SIGINT', 'SIGCONT');
  const killAfter = Date.now() + politeForMs;
  while (found.some(isAlive)) {
    if (Date.now() > killAfter) for (const entry of found) send(entry, 'SIGKILL');
    await sleep(50);
  }
  rmSync(ledgerFile, { force: true });
  return found.map((entry) => entry.name);
}

/** The processes in the ledger that still run. A pid that meanwhile belongs to somebody else is none of them. */
function leftBehind(ledgerFile: string): Entry[] {
  try {
    const recorded = entries.parse(JSON.parse(readFileSync(ledgerFile, 'utf8')));
    return recorded.filter((entry) => entry.pid !== process.pid && isAlive(entry));
  } catch {
    return []; // there is none
  }
}

function isAlive(entry: Entry): boolean {
  return startTimeOf(entry.pid) === entry.startTime;
}

function send(entry: Entry, ...signals: NodeJS.Signals[]): void {
  for (const signal of signals) {
    try {
      if (isAlive(entry)) process.kill(-entry.pid, signal);
    } catch {
      // It ended between the look and the signal.
    }
  }
}
