import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Platform } from '../../platform/platform-file.ts';
import { appendTo } from '../ledger/json-lines.ts';
import type { ReplayLine } from '../ledger/ledger-lines.ts';
import type { Run } from '../run-folder.ts';
import { codeOf, type Caller } from './caller.ts';
import { subscribers, type ReplayMode } from './subscribers.ts';

/** How far back a replay goes, and how long its owner waits before the next. */
const sinceMs = [5_000, 20_000] as const;
const restMs = [2_000, 6_000] as const;
const lookEveryMs = 700;

const replay = z.object({
  replayId: z.string(),
  status: z.string(),
  progress: z.object({ delivered: z.number() }),
});

/**
 * Owners who ask for replays, one after the other, in all modes, and watch each until it is finished. Resolves after `ending`
 * is aborted; what is not finished then the proof waits for.
 */
export async function askForReplays(options: {
  file: string;
  run: Run;
  platform: Platform;
  caller: Caller;
  random: () => number;
  ending: AbortSignal;
}): Promise<void> {
  const { file, run, platform, caller, random, ending } = options;
  const write = appendTo<ReplayLine>(file);
  await Promise.all(
    Object.entries(subscribers).map(async ([name, { replays }]) => {
      const url = `${platform.events}/subscriptions/${run.subscriptions[name]!.subscriptionId}`;
      for (let n = 0; !ending.aborted; n++) {
        await pause(between(restMs));
        if (!ending.aborted) await replayOnce(name, url, replays[n % replays.length]!);
      }
    }),
  );

  async function replayOnce(subscriber: string, url: string, mode: ReplayMode): Promise<void> {
    const since = new Date(Date.now() - between(sinceMs)).toISOString();
    const { status, body } = await caller.untilAnswered({
      method: 'post',
      url: `${url}/replay`,
      json: { since, mode },
    });
    // One whose answer was lost is there too; the proof finds it in the list.
    if (status === 409 && codeOf(body) === 'too_many_replays') return;
    if (status !== 202) throw new Error(`A replay was refused with ${status}`);
    const { replayId } = replay.parse(body);
    write({ step: 'taken', replayId, subscriber, mode, since });
    await watch(replayId, `${url}/replays/${replayId}`);
  }

  async function watch(replayId: string, url: string): Promise<void> {
    while (!ending.aborted) {
      const { status, body } = await caller.untilAnswered({ method: 'get', url });
      if (status !== 200) throw new Error(`A replay was asked for and answered with ${status}`);
      const seen = replay.parse(body);
      write({ step: 'seen', replayId, status: seen.status, delivered: seen.progress.delivered });
      if (seen.status === 'completed') return;
      await pause(lookEveryMs);
    }
  }

  function between([least, most]: readonly [number, number]): number {
    return least + random() * (most - least);
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: ending }).catch(() => {});
  }
}
