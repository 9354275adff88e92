import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { migrate } from '@assistance/service-kit';
import {
  migrateFurther,
  createReceiver,
  startServiceProcess,
  waitUntil,
  type ServiceProcess,
} from '@assistance/test-kit';
import { createSurroundings } from './start-dispatcher.ts';

const folder = join(import.meta.dirname, '..');
const [surroundings, receiver] = await Promise.all([createSurroundings(), createReceiver()]);
const running: ServiceProcess[] = [];
afterAll(async () => {
  await Promise.all(running.map((each) => each.end('SIGKILL')));
  await receiver.close();
  await surroundings.close();
});

async function start(): Promise<ServiceProcess> {
  const environment = { ...surroundings.environment, LOG_LEVEL: 'info' };
  const dispatcher = await startServiceProcess({ folder, environment });
  running.push(dispatcher);
  await dispatcher.untilReady(30_000);
  return dispatcher;
}

const complaints = (dispatcher: ServiceProcess) =>
  dispatcher
    .logLines()
    .filter(({ level, msg }) => level === 'error' || level === 'fatal' || msg === 'loop.failed');

/** Each is delivered, recorded, and delivered once. */
async function deliver(count: number): Promise<void> {
  const before = receiver.received.length;
  const recorded = await surroundings.prisma.delivery.count();
  const ids = await surroundings.publishEvents(count);
  await waitUntil(async () => (await surroundings.prisma.delivery.count()) === recorded + count, {
    timeoutMs: 30_000,
  });
  expect(
    receiver.received
      .slice(before)
      .map(({ headers }) => headers['webhook-id'])
      .sort(),
  ).toEqual(ids.sort());
}

test('a column is added to every table under an old instance at work; it goes on, and a new one beside it', async () => {
  const old = await start();
  await surroundings.subscribe({ callbackUrl: receiver.url });
  await deliver(20);

  const migrating = migrateFurther(join(folder, 'prisma', 'migrations'), (later) =>
    migrate(surroundings.database.url, later),
  );
  const [applied] = await Promise.all([migrating, deliver(300)]);
  expect(applied).toEqual(['99990101000000_a_column_for_every_table']);
  await deliver(20);

  const fresh = await start();
  await deliver(50);
  expect((await old.end('SIGTERM')).code).toBe(0);
  await deliver(20);
  expect([...complaints(old), ...complaints(fresh)]).toEqual([]);
}, 90_000);
