import { afterAll, expect, test } from '@jest/globals';
import { migrate } from '@assistance/service-kit';
import { migrateFurther, type ServiceProcess } from '@assistance/test-kit';
import { callerOf, createSurroundings, migrations, subscribe } from './create-surroundings.ts';

const surroundings = await createSurroundings();
afterAll(() => surroundings.close());

/** Made, changed, replayed, listed: each by one of the instances. */
async function work(first: ServiceProcess, second: ServiceProcess): Promise<void> {
  const [one, other] = [first, second].map((service) => callerOf(service, surroundings));
  const made = await subscribe(first, surroundings);
  const path = `subscriptions/${String(made.body['subscriptionId'])}`;
  const changed = await other!.patch(path, { json: { ordering: 'subject' } });
  const replayed = await one!.post(`${path}/replay`);
  const listed = await other!.get(`${path}/replays`);
  expect([made, changed, replayed, listed].map(({ statusCode }) => statusCode)).toEqual([201, 200, 202, 200]);
}

const complaints = (service: ServiceProcess) =>
  service
    .logLines()
    .filter(({ level, msg }) => level === 'error' || level === 'fatal' || msg === 'loop.failed');

test('a column is added to every table under an old instance at work; it goes on, and a new one beside it', async () => {
  const old = await surroundings.start();
  await old.untilReady();
  await work(old, old);
  const migrating = migrateFurther(migrations, (later) => migrate(surroundings.database.url, later));
  const [applied] = await Promise.all([migrating, work(old, old)]);
  expect(applied).toEqual(['99990101000000_a_column_for_every_table']);
  await work(old, old);

  const fresh = await surroundings.start();
  await fresh.untilReady(30_000);
  await work(old, fresh);
  await work(fresh, old);
  expect((await old.end('SIGTERM')).code).toBe(0);
  await work(fresh, fresh);
  expect([...complaints(old), ...complaints(fresh)]).toEqual([]);
}, 60_000);
