import type { ProcessLedger } from '../../processes/process-ledger.ts';
import { forkLoad } from './fork-load.ts';
import type { ReceiverOptions, ReceiverState } from './receiver.ts';

export interface Receiver {
  pid: number;
  /** Without a path; one for each host. */
  urls: string[];
  /** Counts afresh; resolves with the state when so many have come. */
  expect(count: number): Promise<ReceiverState>;
  state(): Promise<ReceiverState>;
  close(): Promise<void>;
}

/** Starts a receiver; resolves when it listens. */
export async function startReceiver(
  ledger: ProcessLedger,
  options: ReceiverOptions = { hosts: 1 },
): Promise<Receiver> {
  const load = forkLoad(ledger, 'receiver.ts', options);
  const ports = await load.heard<number[]>('ports');
  const state = async (): Promise<ReceiverState> => {
    const answer = load.heard<ReceiverState>('state');
    load.tell({ state: true });
    return answer;
  };
  return {
    pid: load.pid,
    urls: ports.map((port) => `http://127.0.0.1:${port}`),
    expect: async (count) => {
      const reached = load.heard<number>('reached');
      load.tell({ expect: count });
      await reached;
      return state();
    },
    state,
    close: load.close,
  };
}
