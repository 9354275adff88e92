import { setTimeout as sleep } from 'node:timers/promises';
import type { Run } from '../run-folder.ts';
import type { Caller } from './caller.ts';
import type { Receiver } from './start-receiver.ts';
import { subscribers } from './subscribers.ts';

/** How long trouble lasts, and how long it is away. */
const troubleMs = [8_000, 16_000] as const;
const restMs = [10_000, 20_000] as const;

/**
 * Has receivers refuse for a while and owners pause and resume, again and again. Resolves, after `ending` is aborted, when
 * every subscriber is well again and its owner wants it active.
 */
export async function troubleSubscribers(options: {
  run: Run;
  receivers: Record<string, Receiver>;
  caller: Caller;
  eventsUrl: string;
  random: () => number;
  ending: AbortSignal;
}): Promise<void> {
  const { run, receivers, caller, eventsUrl, random, ending } = options;
  const troubled = Object.entries(subscribers).filter(([, { trouble }]) => trouble !== undefined);
  await Promise.all(
    troubled.map(async ([name]) => {
      await setTrouble(name, false); // a part of the run that was broken off may have left it
      while (!ending.aborted) {
        await pause(restMs);
        if (ending.aborted) break;
        await setTrouble(name, true);
        await pause(troubleMs);
        await setTrouble(name, false);
      }
    }),
  );

  async function setTrouble(name: string, there: boolean): Promise<void> {
    const { behaviour, trouble } = subscribers[name]!;
    const { subscriptionId, signingSecret: secret } = run.subscriptions[name]!;
    if (trouble === 'refuses') {
      receivers[name]!.behave({ ...behaviour, secret, ...(there ? { status: 500 } : {}) });
      return;
    }
    const { status } = await caller.untilAnswered({
      method: 'patch',
      url: `${eventsUrl}/subscriptions/${subscriptionId}`,
      json: { status: there ? 'paused' : 'active' },
    });
    if (status !== 200) throw new Error(`A pause or resumption was refused with ${status}`);
  }

  async function pause([least, most]: readonly [number, number]): Promise<void> {
    await sleep(least + random() * (most - least), undefined, { signal: ending }).catch(() => {});
  }
}
