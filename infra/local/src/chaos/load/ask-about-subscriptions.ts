import { setTimeout as sleep } from 'node:timers/promises';
import type { Platform } from '../../platform/platform-file.ts';
import type { Run } from '../run-folder.ts';
import type { Caller } from './caller.ts';

const everyMs = 200;

export interface Asking {
  /** Questions to the subscriptions service without an answer. */
  inFlight(): number;
  finished: Promise<void>;
}

/** An owner who looks at the subscriptions again and again, until `ending` is aborted. */
export function askAboutSubscriptions(options: {
  run: Run;
  platform: Platform;
  caller: Caller;
  ending: AbortSignal;
}): Asking {
  const { run, platform, caller, ending } = options;
  let inFlight = 0;
  const keepAsking = async (): Promise<void> => {
    while (!ending.aborted) {
      for (const { subscriptionId } of Object.values(run.subscriptions)) {
        inFlight += 1;
        const url = `${platform.events}/subscriptions/${subscriptionId}`;
        const { status } = await caller.untilAnswered({ method: 'get', url });
        inFlight -= 1;
        if (status !== 200) throw new Error(`A subscription was asked for and answered with ${status}`);
        await sleep(everyMs, undefined, { signal: ending }).catch(() => {});
      }
    }
  };
  return { inFlight: () => inFlight, finished: keepAsking() };
}
