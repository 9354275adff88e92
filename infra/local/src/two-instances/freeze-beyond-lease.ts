import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { publishEvents } from '../bench/load/publish-events.ts';
import { freezeFamily } from '../chaos/disturb/process-family.ts';
import type { Finding } from './run-two-instances.ts';
import type { Stage } from './stage.ts';
import { untilBothOwn } from './until-both-own.ts';

const events = 50;
const answeredAfterMs = 300;
/** Eight at a time, sending them takes about so long: it strikes at any moment of that. */
const sendingMs = 1_500;
const withinMs = 60_000;
/** All that recording an outcome writes. */
const tables = ['delivery', 'unsettled', 'attempt', 'lane'];

/**
 * Freezes a dispatcher with deliveries in flight that are to fail, until the other has delivered them, and wakes it: not a row
 * may be written, nor the state of one be changed, by what it had in its hands.
 */
export async function* freezeBeyondLease(stage: Stage): AsyncGenerator<Finding> {
  const { victim, subscribers, topicPrefix, rounds, signal } = stage;
  const { databases, kafka } = victim.addresses;
  const client = new Client(databases['webhook-dispatcher']);
  await client.connect();
  let rows = 0;
  let changed = 0;
  try {
    for (let round = 0; round < rounds; round++) {
      await untilBothOwn(stage);
      const before = subscribers.receptions.length;
      const owed = (await deliveries()).delivered + events * subscribers.documents.size;
      subscribers.answer({ status: 500, delayMs: answeredAfterMs });
      await publishEvents({ brokers: kafka, topicPrefix, types: ['document.available'], count: events });
      await until(() => Promise.resolve(subscribers.receptions.length > before + subscribers.documents.size));
      await sleep(Math.random() * sendingMs);
      const thaw = freezeFamily(victim.processes()['webhook-dispatcher-2']!);
      try {
        await sleep(answeredAfterMs);
        subscribers.answer({ status: 204, delayMs: 0 });
        await until(async () => {
          const { delivered, open } = await deliveries();
          return delivered === owed && open === 0;
        });
        const asLeft = await written();
        rows += asLeft.size;
        thaw();
        await untilBothOwn(stage);
        const now = await written();
        changed += [...now].filter((row) => !asLeft.has(row)).length + (asLeft.size - now.size);
      } finally {
        thaw();
      }
    }
  } finally {
    await client.end();
  }
  yield {
    what: `webhook-dispatcher-2 frozen beyond its lease, ${rounds} times`,
    found: `of ${rows} rows written by then, ${changed} were changed or added when it woke`,
    holds: changed === 0,
  };

  /** Of the subscriptions of documents alone: what traffic before this was owed may still come. */
  async function deliveries(): Promise<{ delivered: number; open: number }> {
    const { rows: found } = await client.query<{ delivered: number; open: number }>(
      `with mine as (select lane_no from lane where subscription_id = any ($1))
       select (select count(*)::int from delivery join mine using (lane_no)) as delivered,
              (select count(*)::int from unsettled join mine using (lane_no)) as open`,
      [[...subscribers.documents.values()].map(({ subscriptionId }) => subscriptionId)],
    );
    return found[0]!;
  }

  /** Each row with its version, so that one that was written again as it was shows too. */
  async function written(): Promise<Set<string>> {
    const all = new Set<string>();
    for (const table of tables) {
      const { rows: found } = await client.query<{ row: string }>(
        `select '${table}' || xmin || t.*::text as row from ${table} t`,
      );
      for (const { row } of found) all.add(row);
    }
    return all;
  }

  async function until(isSo: () => Promise<boolean>): Promise<void> {
    const giveUpAt = Date.now() + withinMs;
    while (!(await isSo())) {
      if (Date.now() > giveUpAt)
        throw new Error('What the frozen dispatcher had in hand was not delivered within a minute');
      await sleep(100, undefined, { signal });
    }
  }
}
