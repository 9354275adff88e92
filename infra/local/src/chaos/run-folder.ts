import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { ChaosSettings } from './chaos-settings.ts';
import { freePort } from '../machine/free-port.ts';
import { MachineFault } from '../machine/machine-fault.ts';
import { replaceFile } from '../machine/replace-file.ts';

const subscribed = z.object({
  subscriptionId: z.string(),
  signingSecret: z.string(),
  receiverPort: z.number().int(),
});
const run = z.object({
  seed: z.number().int(),
  instances: z.number().int(),
  port: z.number().int(),
  /** Of the run and of each part that went on with it, in ms since 1970. */
  startedAt: z.array(z.number()),
  /** By the name of the subscriber. */
  subscriptions: z.record(z.string(), subscribed),
});
export type Run = z.infer<typeof run>;

/** Where the files of one run lie. What is under `platform` goes when the proof has held; the ledger stays. */
export const runFiles = (folder: string) => ({
  run: join(folder, 'run.json'),
  disturbances: join(folder, 'disturbances.jsonl'),
  submissions: join(folder, 'submissions.jsonl'),
  events: join(folder, 'events.jsonl'),
  replays: join(folder, 'replays.jsonl'),
  receptions: (subscriber: string) => join(folder, `received-by-${subscriber}.jsonl`),
  platform: join(folder, 'platform'),
  platformLog: join(folder, 'platform.log'),
});
export type RunFiles = ReturnType<typeof runFiles>;

/** A new run in a new folder, or the one that is continued, with its own seed, instances and port. */
export async function openRun(settings: ChaosSettings): Promise<{ folder: string; run: Run }> {
  const { continued, seed, instances } = settings;
  if (continued !== undefined) {
    if (!existsSync(runFiles(continued).platform)) {
      throw new MachineFault('That run is finished: its proof held. To repeat it, give its SEED.');
    }
    const before = run.parse(JSON.parse(readFileSync(runFiles(continued).run, 'utf8')));
    const goingOn = { ...before, startedAt: [...before.startedAt, Date.now()] };
    saveRun(continued, goingOn);
    return { folder: continued, run: goingOn };
  }
  const folder = newFolder(join(settings.folder, `seed-${seed}`));
  const opened: Run = {
    ...{ seed, instances, subscriptions: {}, startedAt: [Date.now()] },
    port: settings.port ?? (await freePort()),
  };
  saveRun(folder, opened);
  return { folder, run: opened };
}

export function saveRun(folder: string, opened: Run): void {
  replaceFile(runFiles(folder).run, opened, 0o600);
}

function newFolder(wanted: string): string {
  let folder = wanted;
  for (let n = 2; existsSync(folder); n++) folder = `${wanted}-${n}`;
  mkdirSync(folder, { recursive: true });
  return folder;
}
