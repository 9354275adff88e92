import type { Run, RunFiles } from '../run-folder.ts';
import { startReceiver, type Receiver } from './start-receiver.ts';
import { subscribers } from './subscribers.ts';

/** One process for each subscriber, by name; each knows its secret and how to answer. */
export async function startReceivers(files: RunFiles, run: Run): Promise<Record<string, Receiver>> {
  const started = await Promise.all(
    Object.entries(run.subscriptions).map(async ([name, { receiverPort, signingSecret: secret }]) => {
      const receiver = await startReceiver(receiverPort, files.receptions(name));
      receiver.behave({ ...subscribers[name]!.behaviour, secret });
      return [name, receiver] as const;
    }),
  );
  return Object.fromEntries(started);
}
