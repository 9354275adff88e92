import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createCaller } from '../chaos/load/caller.ts';
import { openPlatform, topicPrefixOf } from '../chaos/open-platform.ts';
import { freePort } from '../machine/free-port.ts';
import { localDirOf, paths } from '../machine/paths.ts';
import { wholeNumber } from '../machine/whole-number.ts';
import { freezeBeyondLease } from './freeze-beyond-lease.ts';
import { startSubscribers } from './start-subscribers.ts';
import { submitAtOnce } from './submit-at-once.ts';
import { takeOver } from './take-over.ts';

const usage = 'Usage: npm run two-instances\nVariables: ROUNDS (5)';

/** What was found, in words, and whether it keeps its limit. */
export interface Finding {
  what: string;
  found: string;
  holds: boolean;
}

/** A line in `results.jsonl` for each run that came to its end. Exit code 0 if every limit is kept. */
export async function runTwoInstances(environment: NodeJS.ProcessEnv, signal: AbortSignal): Promise<number> {
  const rounds = wholeNumber(environment, { name: 'ROUNDS', fallback: 5, least: 1, most: 100, usage });
  const runs = join(localDirOf(environment), 'two-instances');
  const folder = join(runs, `run-${Date.now()}`);
  mkdirSync(folder, { recursive: true });
  console.log(`Two of each service, ${rounds} rounds, in ${relative(paths.root, folder)}`);
  const startedAt = Date.now();
  const victim = await openPlatform(
    folder,
    { ...{ seed: 1, instances: 2, startedAt: [startedAt], subscriptions: {} }, port: await freePort() },
    signal,
  );
  const findings: Finding[] = [];
  try {
    const platform = victim.addresses;
    const caller = createCaller(platform, 'partner', signal);
    const subscribers = await startSubscribers(platform, caller);
    const stage = { victim, caller, subscribers, topicPrefix: topicPrefixOf(folder), rounds, signal };
    try {
      for (const measure of [submitAtOnce, takeOver, freezeBeyondLease]) {
        for await (const finding of measure(stage)) {
          findings.push(finding);
          console.log(`  ${finding.holds ? '✓' : '✗'} ${finding.what}: ${finding.found}`);
        }
      }
    } finally {
      await victim.close(); // a stop lets the deliveries end that are under way
      await subscribers.close();
    }
  } finally {
    await victim.close();
  }
  const holds = findings.every((finding) => finding.holds);
  const line = { at: new Date().toISOString(), rounds, holds, findings };
  appendFileSync(join(runs, 'results.jsonl'), `${JSON.stringify(line)}\n`);
  console.log(
    `${holds ? 'All of it holds' : 'It does not hold'}, after ${((Date.now() - startedAt) / 60_000).toFixed(1)} minutes.`,
  );
  if (holds) rmSync(folder, { recursive: true, force: true });
  return holds ? 0 : 1;
}
