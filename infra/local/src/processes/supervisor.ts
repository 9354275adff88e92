import type { ProcessSpec } from './supervised-process.ts';
import { SupervisedProcess } from './supervised-process.ts';

const foundations = ['postgres', 'kafka'];

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

  /** Ends all but Postgres and Kafka, on which they depend to stop well; nothing is started again. */
  async closeServices(): Promise<void> {
    this.#closing = true;
    const all = [...this.#processes.values()];
    for (const supervised of all) supervised.dismiss();
    await Promise.all(
      all.filter(({ name }) => !foundations.includes(name)).map((service) => service.close()),
    );
  }

  /** Ends all, Postgres and Kafka last. */
  async close(): Promise<void> {
    await this.closeServices();
    await Promise.all([...this.#processes.values()].map((supervised) => supervised.close()));
  }
}
