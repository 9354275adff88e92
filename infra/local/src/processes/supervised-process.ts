import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from './launch.ts';

export interface ProcessSpec {
  name: string;
  /** Starts it, and resolves when it may be stopped again; also called to start it again, on the same ports. */
  start: () => Promise<Running>;
}

const firstPauseMs = 100;
const longestPauseMs = 5_000;
/** A process that ran that long is not in a loop of crashes. */
const steadyAfterMs = 10_000;

/** One process that is to be there, unless it is held or closed. Emits `change` and `trouble` (a line for people). */
export class SupervisedProcess extends EventEmitter<{ change: []; trouble: [string] }> {
  readonly name: string;
  readonly #start: () => Promise<Running>;
  #running: Running | null = null;
  #starting = false;
  #held = false;
  #closed = false;

  constructor(spec: ProcessSpec) {
    super();
    this.setMaxListeners(0);
    this.name = spec.name;
    this.#start = spec.start;
  }

  get pid(): number | null {
    return this.#running?.pid ?? null;
  }

  get held(): boolean {
    return this.#held;
  }

  /** Starts it and keeps it; resolves when it was started once. Rejects when the first start fails. */
  async open(): Promise<void> {
    await this.#startOnce();
    void this.#keep();
  }

  /** Ends the process and keeps it away; resolves when it is gone. */
  async hold(): Promise<void> {
    this.#held = true;
    this.emit('change');
    await this.#gone();
  }

  /** Lets it come back; resolves when it has been started. */
  async release(): Promise<void> {
    this.#held = false;
    this.emit('change');
    while (this.#running === null && !this.#held && !this.#closed) await once(this, 'change');
  }

  /** From now on it is not started again. */
  dismiss(): void {
    this.#closed = true;
    this.emit('change');
  }

  async close(): Promise<void> {
    this.dismiss();
    await this.#gone();
  }

  /** How the running process ends; undefined if none runs. */
  get exited(): Promise<string> | undefined {
    return this.#running?.exited;
  }

  get #unwanted(): boolean {
    return this.#held || this.#closed;
  }

  async #keep(): Promise<void> {
    let pauseMs = firstPauseMs;
    for (;;) {
      if (this.#running !== null) {
        const startedAt = performance.now();
        const how = await this.#running.exited;
        this.#running = null;
        this.emit('change');
        if (this.#unwanted) continue;
        this.emit('trouble', `${this.name} ended (${how}) and is started again`);
        if (performance.now() - startedAt > steadyAfterMs) pauseMs = firstPauseMs;
        pauseMs = await this.#pause(pauseMs);
      } else if (this.#closed) {
        return;
      } else if (this.#held) {
        await once(this, 'change');
      } else {
        try {
          await this.#startOnce();
        } catch (error) {
          if (this.#unwanted) continue;
          this.emit('trouble', `${this.name} does not start: ${(error as Error).message}`);
          pauseMs = await this.#pause(pauseMs);
        }
      }
    }
  }

  async #startOnce(): Promise<void> {
    this.#starting = true;
    try {
      this.#running = await this.#start();
    } finally {
      this.#starting = false;
      this.emit('change');
    }
  }

  /** Waits, unless something changes meanwhile; answers how long to wait the next time. */
  async #pause(pauseMs: number): Promise<number> {
    const waiting = new AbortController();
    const { signal } = waiting;
    const woken = [sleep(pauseMs, undefined, { signal }), once(this, 'change', { signal })];
    await Promise.race(woken.map((wake) => wake.catch(() => {})));
    waiting.abort();
    return Math.min(pauseMs * 2, longestPauseMs);
  }

  async #gone(): Promise<void> {
    while (this.#unwanted && (this.#starting || this.#running !== null)) {
      await Promise.all([this.#running?.stop(), once(this, 'change')]);
    }
  }
}
