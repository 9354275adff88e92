import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ProcessLedger } from '../../processes/process-ledger.ts';

export interface Load {
  pid: number;
  tell(message: unknown): void;
  /** The next message that has this field; rejects when the process ends before. */
  heard<T>(field: string): Promise<T>;
  close(): Promise<void>;
}

/** Starts one of the processes of this folder; it ends with its channel. */
export function forkLoad(ledger: ProcessLedger, script: string, options: unknown = {}): Load {
  ledger.checkOpen();
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), [JSON.stringify(options)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.setMaxListeners(0);
  const exited = once(child, 'exit');
  return {
    pid: child.pid ?? 0,
    tell: (message) => child.send(message as Parameters<ChildProcess['send']>[0]),
    heard: (field) =>
      new Promise((resolve, reject) => {
        const listen = (message: Record<string, unknown>): void => {
          if (!(field in message)) return;
          child.off('message', listen);
          resolve(message[field] as never);
        };
        child.on('message', listen);
        void exited.then(() => reject(new Error(`${script} ended before it said "${field}"`)));
      }),
    close: async () => {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
