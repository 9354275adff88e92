import type { ProcessSpec } from './supervised-process.ts';
import { SupervisedProcess } from './supervised-process.ts';

interface Listeners {
  /** Something came, went or was replaced. */
  onChange: () => void;
  /** A line for people: something died or does not come up. */
  onTrouble: (line: string) => void;
}

/** All processes of the platform, by name. What dies is started again; the order in which they stop is kept. */
export class Supervisor {
  readonly #processes = new Map<string, SupervisedProcess>();
  readonly #listeners: Listeners;
  #closing = false;

  constructor(listeners: Listeners) {
    this.#listeners = listeners;
  }

  /** Starts the process; rejects when it cannot be started the first time. */
  async open(spec: ProcessSpec): Promise<SupervisedProcess> {
    const supervised = new SupervisedProcess(spec);
    this.#processes.set(spec.name, supervised);
    supervised.on('change', () => this.#closing || this.#listeners.onChange());
    supervised.on('trouble', (line) => this.#closing || this.#listeners.onTrouble(line));
    await supervised.open();
    if (this.#closing) await supervised.close();
    return supervised;
  }

  find(name: string): SupervisedProcess | undefined {
    return this.#processes.get(name);
  }

  /** The pids of those that run. */
  pids(): Record<string, number> {
    const running = [...this.#processes.values()].filter((process) => process.pid !== null);
    return Object.fromEntries(running.map((process) => [process.name, process.pid!]));
  }

  /** Ends all: first what nobody depends on, in the end Postgres and Kafka. */
  async close(): Promise<void> {
    this.#closing = true;
    const foundations = ['postgres', 'kafka'];
    const all = [...this.#processes.values()];
    await Promise.all(
      all.filter(({ name }) => !foundations.includes(name)).map((process) => process.close()),
    );
    await Promise.all(all.map((process) => process.close()));
  }
}
