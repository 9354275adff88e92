/** A terminal, or a file. */
type Out = NodeJS.WritableStream & { isTTY?: boolean; columns?: number };

/** Shows that something is alive: a line rewritten in a terminal, a line every few seconds in a log. */
export class Progress {
  readonly #running = new Map<string, number>();
  readonly #out: Out;
  #timer: NodeJS.Timeout | undefined;
  #lastShownAt = 0;

  constructor(out: Out = process.stdout) {
    this.#out = out;
  }

  /** Runs the work under a name that is shown while it takes longer than a second, and how it ended. */
  async step<T>(
    name: string,
    work: () => Promise<T>,
    isGood: (result: T) => boolean = () => true,
  ): Promise<T> {
    const startedAt = performance.now();
    this.#running.set(name, startedAt);
    this.#timer ??= setInterval(() => this.#show(), 500);
    try {
      const result = await work();
      this.say(`  ${isGood(result) ? '✓' : '✗'} ${name} (${seconds(performance.now() - startedAt)})`);
      return result;
    } finally {
      this.#running.delete(name);
      if (this.#running.size === 0) this.end();
    }
  }

  say(line: string): void {
    this.#out.write(`${this.#out.isTTY ? '\r\x1b[K' : ''}${line}\n`);
  }

  #show(): void {
    const now = performance.now();
    const slow = [...this.#running].filter(([, startedAt]) => now - startedAt > 1_000);
    if (slow.length === 0) return;
    const names = slow.map(([name, startedAt]) => `${name} ${Math.round((now - startedAt) / 1000)} s`);
    const line = `  … ${names.join(', ')}`;
    if (this.#out.isTTY)
      return void this.#out.write(`\r\x1b[K${line.slice(0, (this.#out.columns ?? 80) - 1)}`);
    if (now - this.#lastShownAt < 3_000) return;
    this.#lastShownAt = now;
    this.#out.write(`${line}\n`);
  }

  /** Shows nothing any more, whatever is still under way. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    if (this.#out.isTTY) this.#out.write('\r\x1b[K');
  }
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
