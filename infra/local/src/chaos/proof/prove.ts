import type { Platform } from '../../platform/platform-file.ts';
import type { Caller } from '../load/caller.ts';
import { subscribers } from '../load/subscribers.ts';
import type { Run, RunFiles } from '../run-folder.ts';
import { none, type Claim } from './claim.ts';
import { expectedEvents } from './expected-events.ts';
import { explainDuplicates, type Duplicates } from './explain-duplicates.ts';
import { listApplications, proveApplications } from './prove-applications.ts';
import { proveAudit } from './prove-audit.ts';
import { proveBooks, proveLeftovers } from './prove-books.ts';
import { proveDeliveries } from './prove-deliveries.ts';
import { listReplays, proveReplays } from './prove-replays.ts';
import { readLedger, type Ledger } from './read-ledger.ts';
import { readRecords } from './read-records.ts';

export interface Proof {
  claims: Claim[];
  ledger: Ledger;
  duplicates: Duplicates;
}

/** Compares the ledger with what the platform holds at this moment. */
export async function prove(options: {
  files: RunFiles;
  run: Run;
  platform: Platform;
  topicPrefix: string;
  caller: Caller;
}): Promise<Proof> {
  const { files, run, platform, topicPrefix, caller } = options;
  const ledger = await readLedger(files, Object.keys(subscribers));
  const expected = expectedEvents(ledger);
  const records = await readRecords(platform.kafka, topicPrefix);
  const listed = await listApplications(caller, platform.applications);
  const duplicates = explainDuplicates(
    [...ledger.receptions.values()],
    ledger.disturbances,
    run.startedAt.slice(1),
  );
  const published = [...ledger.published];
  const counts = Object.entries(subscribers).map(
    ([name, { eventTypes }]) =>
      [name, [...expected.values()].filter(({ type }) => eventTypes.includes(type)).length] as const,
  );
  const replays: Claim[] = [];
  for (const [name, { subscriptionId }] of Object.entries(run.subscriptions)) {
    const all = await listReplays(caller, `${platform.events}/subscriptions/${subscriptionId}`);
    const watched = [...ledger.replays].filter(([, { subscriber }]) => subscriber === name);
    const receptions = ledger.receptions.get(name) ?? [];
    replays.push(...proveReplays({ name, watched: new Map(watched), listed: all, receptions }));
  }
  const claims = [
    ...proveApplications(ledger.submissions, listed),
    none(
      'every published event was acknowledged',
      published.filter(([, { acknowledged }]) => !acknowledged).map(([id]) => id),
      `${published.length} events`,
    ),
    ...Object.entries(subscribers).flatMap(([name, { eventTypes, ordering }]) =>
      proveDeliveries({
        ...{ name, eventTypes, ordering, expected, records },
        receptions: ledger.receptions.get(name) ?? [],
      }),
    ),
    ...replays,
    none('duplicates only from what was in flight', duplicates.unexplained, `${duplicates.total} duplicates`),
    ...(await proveBooks({ platform, run, caller, expectedCounts: Object.fromEntries(counts) })),
    ...(await proveLeftovers(platform, topicPrefix)),
    await proveAudit(platform.databases['applications']!, listed.length),
  ];
  return { claims, ledger, duplicates };
}
