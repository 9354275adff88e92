import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from './logger.ts';

export interface PollLoopOptions {
  name: string;
  /** One turn. Answers true when there may be more to do at once. */
  turn: (signal: AbortSignal) => Promise<boolean>;
  /** How long to wait when there was nothing to do and nobody woke the loop. */
  intervalMs: number;
  /**
   * How long to wait when somebody woke the loop while its turn was under way: it is busy then, and what comes meanwhile
   * is done in one turn. 0 by default.
   */
  restMs?: number;
  log: Logger;
}

const ERROR_DELAY_MS = { first: 100, most: 5_000 };

/**
 * Does one thing again and again, one turn at a time: at once while there is more, when woken, and each `intervalMs`.
 * A turn that throws is logged and tried again with growing delays; the loop ends only when it is stopped.
 */
export class PollLoop {
  private readonly options: PollLoopOptions;
  private readonly aborter = new AbortController();
  private running: Promise<void> | undefined;
  private woken = false;
  private wakeSleeper: (() => void) | undefined;
  private failuresInARow = 0;

  constructor(options: PollLoopOptions) {
    this.options = options;
  }

  start(): void {
    this.running ??= this.run();
  }

  /** Makes the next turn happen now, or right after the one under way. */
  wake(): void {
    this.woken = true;
    this.wakeSleeper?.();
  }

  /** Resolves when the turn under way has ended. */
  async stop(): Promise<void> {
    this.aborter.abort();
    this.wakeSleeper?.();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.aborter;
    while (!signal.aborted) {
      this.woken = false;
      const delayMs = await this.takeTurn(signal);
      if (delayMs === 0 || signal.aborted) continue;
      if (this.woken) await this.rest(signal);
      else await this.sleep(delayMs);
    }
  }

  private async takeTurn(signal: AbortSignal): Promise<number> {
    const { name, turn, intervalMs, log } = this.options;
    try {
      const more = await turn(signal);
      this.failuresInARow = 0;
      return more ? 0 : intervalMs;
    } catch (error) {
      if (signal.aborted) return 0;
      this.failuresInARow += 1;
      const delayMs = Math.min(ERROR_DELAY_MS.most, ERROR_DELAY_MS.first * 2 ** (this.failuresInARow - 1));
      log.warn({ loop: name, failuresInARow: this.failuresInARow, delayMs, err: error }, 'loop.failed');
      return delayMs;
    }
  }

  private async rest(signal: AbortSignal): Promise<void> {
    const { restMs = 0 } = this.options;
    if (restMs > 0) await delay(restMs, undefined, { signal }).catch(() => undefined);
  }

  private sleep(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(done, delayMs);
      const finish = (): void => {
        clearTimeout(timer);
        done();
      };
      this.wakeSleeper = finish;
      function done(): void {
        resolve();
      }
    });
  }
}
