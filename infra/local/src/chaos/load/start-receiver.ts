import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Behaviour } from './receiver.ts';

export interface Receiver {
  /** Deliveries that have come and are not yet answered. */
  inFlight(): number;
  behave(behaviour: Behaviour): void;
  close(): Promise<void>;
}

/** Starts a receiver; resolves when it listens. */
export async function startReceiver(port: number, file: string): Promise<Receiver> {
  const script = fileURLToPath(new URL('receiver.ts', import.meta.url));
  const child = fork(script, [String(port), file], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let answering = 0;
  child.on('message', (told: { answering?: number }) => (answering = told.answering ?? answering));
  const exited = once(child, 'exit');
  await Promise.race([
    once(child, 'message'),
    exited.then(() => Promise.reject(new Error(`The receiver on port ${port} did not start`))),
  ]);
  return {
    inFlight: () => answering,
    behave: (behaviour) => child.send(behaviour),
    close: async () => {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
