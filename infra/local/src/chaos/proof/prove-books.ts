import { Client } from 'pg';
import { z } from 'zod';
import type { Platform } from '../../platform/platform-file.ts';
import type { Caller } from '../load/caller.ts';
import type { Run } from '../run-folder.ts';
import { none, type Claim } from './claim.ts';
import { countDeadLetters } from './read-records.ts';

const reconciliation = z.object({
  matched: z.number(),
  delivered: z.number(),
  pending: z.number(),
  dead: z.number(),
  cancelled: z.number(),
  expired: z.number(),
});
const subscription = z.object({ status: z.string() });

/** That the platform's own books agree with the ledger: `expectedCounts` says how many events each subscriber matched. */
export async function proveBooks(options: {
  platform: Platform;
  run: Run;
  caller: Caller;
  expectedCounts: Record<string, number>;
}): Promise<Claim[]> {
  const { platform, run, caller, expectedCounts } = options;
  const faults: string[] = [];
  const inactive: string[] = [];
  for (const [name, { subscriptionId }] of Object.entries(run.subscriptions)) {
    const books = await caller.untilAnswered({
      method: 'get',
      url: `${platform.deliveries}/subscriptions/${subscriptionId}/reconciliation`,
    });
    const { matched, delivered, ...open } = reconciliation.parse(books.body);
    const wanted = expectedCounts[name]!;
    if (matched !== wanted || delivered !== wanted || Object.values(open).some((count) => count !== 0)) {
      faults.push(`${name} ${JSON.stringify({ ledger: wanted, matched, delivered, ...open })}`);
    }
    const { body } = await caller.untilAnswered({
      method: 'get',
      url: `${platform.events}/subscriptions/${subscriptionId}`,
    });
    const { status } = subscription.parse(body);
    if (status !== 'active') inactive.push(`${name} is ${status}`);
  }
  const of = `${Object.keys(run.subscriptions).length} subscriptions`;
  return [
    none('reconciliation equals the ledger', faults, of),
    none('every subscription is active again', inactive, of),
  ];
}

/** That nothing is left lying anywhere. */
export async function proveLeftovers(platform: Platform, topicPrefix: string): Promise<Claim[]> {
  const left: string[] = [];
  for (const [service, url] of Object.entries(platform.databases)) {
    const rows = await countOutbox(url);
    if (rows > 0) left.push(`${rows} in ${service}`);
  }
  const deadLetters = await countDeadLetters(platform.kafka, topicPrefix);
  return [
    none('no outbox row is left', left, `${Object.keys(platform.databases).length} outboxes`),
    none('no dead letter', deadLetters === 0 ? [] : [`${deadLetters} records`], '3 topics'),
  ];
}

async function countOutbox(connectionString: string): Promise<number> {
  const client = new Client({ connectionString, connectionTimeoutMillis: 5_000, query_timeout: 10_000 });
  await client.connect();
  try {
    const { rows } = await client.query<{ count: number }>('select count(*)::int as count from outbox');
    return rows[0]!.count;
  } finally {
    await client.end();
  }
}
