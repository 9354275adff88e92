import { expect, test } from '@jest/globals';
import { waitUntil } from '@assistance/test-kit';
import { freezable } from './support/open-test-database.ts';
import { valuesOf } from './support/start-topics.ts';
import { numbered, numbers, withOutbox } from './support/with-outbox.ts';

test(
  'a relay that was frozen after it had read publishes nothing of what another has published since',
  withOutbox(async ({ database, startRelay, insert, empty, things }) => {
    const sql = freezable(database.sql);
    let hasRead = false;
    startRelay({
      sql: {
        $executeRawUnsafe: sql.$executeRawUnsafe,
        $queryRawUnsafe: async (text, ...values) => {
          const isRead = text.includes('from outbox where') && !hasRead;
          const rows = isRead
            ? await database.sql.$queryRawUnsafe(text, ...values)
            : await sql.$queryRawUnsafe(text, ...values);
          if (isRead && (rows as unknown[]).length > 0) {
            hasRead = true;
            sql.freeze();
            await sql.$queryRawUnsafe('select 1');
          }
          return rows as never;
        },
      },
    });
    await insert(...numbered('a', 0, 5));
    await waitUntil(() => hasRead, { timeoutMs: 10_000 });
    await database.pool.query(`update outbox_lease set until = now() - interval '1 second'`);
    await database.pool.query(`update outbox_member set until = now() - interval '1 second'`);
    startRelay();
    await empty();
    await insert(...numbered('a', 5, 10));
    await empty();
    // It wakes up when its own deadline has passed, as after a real freeze.
    const clock = performance.now.bind(performance);
    performance.now = () => clock() + 10_000;
    sql.thaw();
    await insert(...numbered('a', 10, 12));
    await empty();
    await waitUntil(() => things.length >= 12, { timeoutMs: 15_000 });
    expect(valuesOf(things)).toEqual(numbers(0, 12));
  }),
);
