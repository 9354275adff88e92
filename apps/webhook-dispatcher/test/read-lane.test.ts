import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { migrate, type Sql } from '@assistance/service-kit';
import { createTestDatabase, type TestDatabase } from '@assistance/test-kit';
import { Lane } from '../src/lanes/lane.ts';
import { readPortion } from '../src/lanes/read-lane.ts';
import { openHotPath } from '../src/open-database.ts';

const OTHERS = 5_000;
const RARE = 3;

let database: TestDatabase;
let sql: ReturnType<typeof openHotPath>;
beforeAll(async () => {
  database = await createTestDatabase({
    template: 'webhook-dispatcher',
    migrate: (url) => migrate(url, join(import.meta.dirname, '..', 'prisma', 'migrations')),
  });
  sql = openHotPath({ url: database.url, poolSize: 1 });
  // A fresh day: it has no statistics.
  for (const back of [0, 1, 2])
    await sql.$queryRawUnsafe(`select make_day((now() at time zone 'UTC')::date - ${back})::text`);
  await sql.$executeRawUnsafe(
    `insert into event (seq, type, event_key, webhook_id, subject, event_time, arrived_at, body)
     select seq_of(now()) + n,
            case when n > ${OTHERS} then 'rare' when n % 2 = 0 then 'frequent' else 'usual' end,
            gen_random_uuid(), n::text, n::text, now(), now(), 'x' from generate_series(1, ${OTHERS + RARE}) n`,
  );
  await sql.$executeRawUnsafe(`insert into span (lane_no, type, from_seq) values (1, 'rare', 0)`);
});
afterAll(async () => {
  await sql.close();
  await database.drop();
});

test('a lane reads only its own types, however many others lie before them on a day without statistics', async () => {
  let asked: [string, ...unknown[]] = [''];
  const listening: Sql = {
    ...sql,
    $queryRawUnsafe: (...call) => {
      asked = call;
      return sql.$queryRawUnsafe(...call);
    },
  };
  const lane = new Lane({ laneNo: 1, replay: null, spans: [], cursor: 0, recordedBeyond: [] });
  const { events, complete } = await readPortion(listening, lane, 1, 0);
  expect(events.map(({ webhookId }) => Number(webhookId))).toEqual([OTHERS + 1, OTHERS + 2, OTHERS + 3]);
  expect(complete).toBe(true);

  const [statement, ...parameters] = asked;
  const plan = JSON.stringify(
    await sql.$queryRawUnsafe(`explain (analyze, format json) ${statement}`, ...parameters),
  );
  expect(plan).toContain('"Actual Rows":3');
  const removed = [...plan.matchAll(/"Rows Removed by Filter":(\d+)/g)].map(([, rows]) => Number(rows));
  expect(Math.max(0, ...removed)).toBe(0);
});
