import type { ProcessLedger } from '../../processes/process-ledger.ts';
import { forkLoad } from './fork-load.ts';
import type { ReceiverState } from './receiver.ts';

export interface Receiver {
  pid: number;
  url: string;
  /** Counts afresh; resolves with the state when so many have come. */
  expect(count: number): Promise<ReceiverState>;
  state(): Promise<ReceiverState>;
  close(): Promise<void>;
}

/** Starts a receiver; resolves when it listens. */
export async function startReceiver(ledger: ProcessLedger): Promise<Receiver> {
  const load = forkLoad(ledger, 'receiver.ts');
  const port = await load.heard<number>('port');
  const state = async (): Promise<ReceiverState> => {
    const answer = load.heard<ReceiverState>('state');
    load.tell({ state: true });
    return answer;
  };
  return {
    pid: load.pid,
    url: `http://127.0.0.1:${port}`,
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
