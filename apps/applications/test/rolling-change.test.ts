import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { migrate } from '@assistance/service-kit';
import { migrateFurther, type ServiceProcess } from '@assistance/test-kit';
import { createSurroundings } from './support/run-service.ts';
import { clientOf } from './support/start-service.ts';
import { get, submit, submittedAnd, untilStatus } from './support/submission.ts';

const surroundings = await createSurroundings();
afterAll(() => surroundings.close());

const callerOf = (service: ServiceProcess) =>
  clientOf({ baseUrl: `${service.url}/applications/v1`, issuer: surroundings.issuer });
const complaints = (service: ServiceProcess) =>
  service
    .logLines()
    .filter(({ level, msg }) => level === 'error' || level === 'fatal' || msg === 'loop.failed');

test('a column is added to every table under an old instance at work; it goes on, and a new one beside it', async () => {
  const ways = await surroundings.createWays();
  const old = await surroundings.start(ways);
  await old.untilReady();
  const before = await submittedAnd(callerOf(old), 'eligible');

  let migrating = true;
  const meanwhile: Promise<number>[] = [];
  const load = (async () => {
    while (migrating) {
      const answer = submit(callerOf(old)).then(({ status }) => status);
      meanwhile.push(answer);
      await answer;
    }
  })();
  const applied = await migrateFurther(join(import.meta.dirname, '..', 'prisma', 'migrations'), (folder) =>
    migrate(surroundings.database.url, folder),
  );
  migrating = false;
  await load;
  expect(applied).toEqual(['99990101000000_a_column_for_every_table']);
  expect(new Set(await Promise.all(meanwhile))).toEqual(new Set([201]));

  await submittedAnd(callerOf(old), 'eligible');
  const fresh = await surroundings.start(ways);
  await fresh.untilReady(30_000);
  const submission = { key: randomUUID(), body: { applicantRef: randomUUID() } };
  const [one, other] = await Promise.all([old, fresh].map((each) => submit(callerOf(each), submission)));
  expect([one?.status, other?.status]).toEqual([201, 201]);
  expect(one?.body.applicationId).toBe(other?.body.applicationId);
  for (const each of [old, fresh]) {
    await untilStatus(callerOf(each), one?.body.applicationId, 'eligible');
    expect((await get(callerOf(each), `applications/${before}/history`)).body.data).toHaveLength(3);
    expect((await get(callerOf(each), 'applications')).status).toBe(200);
  }
  expect((await old.end('SIGTERM')).code).toBe(0);
  await submittedAnd(callerOf(fresh), 'eligible');
  expect([...complaints(old), ...complaints(fresh)]).toEqual([]);
}, 90_000);
