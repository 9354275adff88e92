import { appendFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { paths } from '../machine/paths.ts';
import type { ChaosSettings } from './chaos-settings.ts';
import { disturbAll, untilReady } from './disturb/disturb-all.ts';
import { createCaller, type Caller } from './load/caller.ts';
import { startLoad } from './load/start-load.ts';
import { startReceivers } from './load/start-receivers.ts';
import { subscribe } from './load/subscribe.ts';
import { openPlatform, topicPrefixOf, type Victim } from './open-platform.ts';
import { hitEnough } from './proof/claim.ts';
import { prove, type Proof } from './proof/prove.ts';
import { showProof, summarise } from './proof/summarise.ts';
import { holds, untilProven } from './proof/until-proven.ts';
import { openRun, runFiles, type Run } from './run-folder.ts';

/** Exit code 0 when everything holds. When it is broken off, what was done is kept and can be continued. */
export async function runChaos(settings: ChaosSettings, signal: AbortSignal): Promise<number> {
  const startedAt = Date.now();
  const { folder, run } = await openRun(settings);
  const shown = relative(paths.root, folder);
  console.log(
    `Chaos: seed ${run.seed}, ${settings.kills} disturbances, ${run.instances} of each service, in ${shown}`,
  );
  const victim = await openPlatform(folder, run, signal);
  let proof: Proof | undefined;
  try {
    proof = await disturbUnderLoad(folder, run, victim, settings.kills, signal);
  } finally {
    await victim.close();
    if (proof === undefined) console.log(`Broken off. Go on with: CONTINUE=${shown} npm run chaos`);
  }
  proof.claims.push(hitEnough(proof.ledger.disturbances));
  const good = proof.claims.every(holds);
  showProof(proof);
  keepResult(settings, run, proof, good);
  if (good) rmSync(runFiles(folder).platform, { recursive: true, force: true });
  const minutes = ((Date.now() - startedAt) / 60_000).toFixed(1);
  console.log(
    good
      ? `All of it holds, after ${minutes} minutes.`
      : `It does not hold. Logs and data: ${runFiles(folder).platform}`,
  );
  return good ? 0 : 1;
}

async function disturbUnderLoad(
  folder: string,
  run: Run,
  victim: Victim,
  kills: number,
  signal: AbortSignal,
): Promise<Proof> {
  const files = runFiles(folder);
  const { addresses: platform } = victim;
  const caller = createCaller(platform, 'partner', signal);
  const topicPrefix = topicPrefixOf(folder);
  await subscribe(folder, run, caller, platform.events);
  const receivers = await startReceivers(files, run);
  try {
    const load = await startLoad({ files, run, platform, topicPrefix, caller, receivers, signal });
    const { inFlight } = load;
    await disturbAll({ file: files.disturbances, seed: run.seed, kills, victim, caller, inFlight, signal });
    signal.throwIfAborted();
    await untilReady(victim, signal);
    await load.finish();
    console.log(`  The load has ended; answers: ${inWords(caller)}`);
    return await untilProven(() => prove({ files, run, platform, topicPrefix, caller }), signal);
  } finally {
    await victim.close(); // a stop lets the deliveries end that are under way
    await Promise.all(Object.values(receivers).map((receiver) => receiver.close()));
  }
}

const inWords = ({ tally }: Caller): string =>
  [...tally].map(([status, count]) => `${count} × ${status}`).join(', ');

function keepResult(settings: ChaosSettings, run: Run, proof: Proof, good: boolean): void {
  const { claims, ledger, duplicates } = proof;
  const result = {
    at: new Date().toISOString(),
    ...{ seed: run.seed, instances: run.instances, holds: good },
    disturbances: ledger.disturbances.length,
    submissions: ledger.submissions.size,
    published: ledger.published.size,
    replays: ledger.replays.size,
    duplicates: duplicates.total,
    unexplained: duplicates.unexplained.length,
    broken: claims.filter((claim) => !claim.holds),
    targets: summarise(proof),
  };
  appendFileSync(join(settings.folder, 'results.jsonl'), `${JSON.stringify(result)}\n`);
}
