import { spawn } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { topics } from '@assistance/types';
import { waitUntil } from '@assistance/test-kit';
import { requestReplay } from './request-replay.ts';
import { folder, nodeArguments, runOperatorCommand } from './run-operator-command.ts';
import { runDispatcher, startDispatcher, type Subscribed } from './start-dispatcher.ts';

const settings = { RETRY_BASE_MS: '50', FAILING_AFTER_ATTEMPTS: '2', FAILING_AFTER_MS: '1' };
const { surroundings, dispatcher } = await runDispatcher(settings);
const { prisma, environment } = surroundings;
const { DATABASE_URL, KAFKA_BROKERS, KAFKA_TOPIC_PREFIX } = environment;
const env = { DATABASE_URL, KAFKA_BROKERS, KAFKA_TOPIC_PREFIX };
const rebuild = () => runOperatorCommand(env, 'rebuild-mirror');

/** What the mirror knows, and what its lanes go by; when a deletion was learned is not on the topic. */
async function mirror() {
  const subscriptions = await prisma.subscription.findMany({ omit: { deletedAt: true } });
  const spans = await prisma.span.findMany({ omit: { joined: true } });
  const lanes = await prisma.lane.findMany({
    select: { laneNo: true, judgedEpoch: true },
  });
  const sorted = <Row>(rows: Row[]): string[] =>
    rows
      .map((row) =>
        JSON.stringify(row, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)),
      )
      .sort();
  return { subscriptions: sorted(subscriptions), spans: sorted(spans), lanes: sorted(lanes) };
}

/** A lane that was read anew tells again how far its replay is, so the numbers may have grown. */
async function reportNumbers(): Promise<number[]> {
  const lanes = await prisma.lane.findMany({ select: { reportNumber: true }, orderBy: { laneNo: 'asc' } });
  return lanes.map(({ reportNumber }) => reportNumber);
}

const known = ({ record }: Subscribed): Promise<unknown> =>
  waitUntil(
    async () => {
      const { subscriptionId, version } = record;
      return (await prisma.subscription.count({ where: { subscriptionId, version } })) === 1;
    },
    { timeoutMs: 20_000 },
  );

test('an emptied mirror is as it was, beside a running dispatcher; deliveries go on, none lost, none doubled', async () => {
  const [receiver, waiting] = [await surroundings.receive(), await surroundings.receive()];
  // Three failures, one after the other, before the first success: failing, and active again.
  receiver.respond((_request, number) =>
    number <= 3 ? { status: 500, delayMs: 20 * number } : { status: 204, delayMs: 100 },
  );
  const live = await surroundings.subscribe({ callbackUrl: receiver.url });
  const paused = await surroundings.subscribe({ callbackUrl: waiting.url, status: 'paused', statusEpoch: 2 });
  const gone = await surroundings.subscribe({ callbackUrl: receiver.url });
  await gone.change({ status: 'deleted' });
  await Promise.all([live, paused, gone].map(known));
  const since = new Date();
  const before = await surroundings.publishEvents(20);
  await waitUntil(async () => (await prisma.delivery.count()) === 20, { timeoutMs: 20_000 });
  const replayId = await requestReplay(surroundings, paused, 'all', since);
  await waitUntil(async () => (await prisma.lane.count({ where: { replayId } })) === 1);
  await waitUntil(async () => (await prisma.laneCommand.count()) === 0);
  const reportsOf = async ({ record: { subscriptionId } }: Subscribed): Promise<number> =>
    (await prisma.lane.findFirstOrThrow({ where: { subscriptionId, replayId: null } })).reportNumber;
  await waitUntil(async () => (await reportsOf(live)) >= 2);
  await waitUntil(async () => (await reportsOf(paused)) >= 1); // how much the replay has to do
  const asItWas = await mirror();
  const numbersBefore = await reportNumbers();

  await prisma.subscription.deleteMany();
  await prisma.span.deleteMany();
  expect(await rebuild()).toEqual({ code: 0, lines: ['3 subscriptions are as the topic says.'], fault: '' });
  const { spans, ...rest } = await mirror();
  expect(rest).toEqual({ subscriptions: asItWas.subscriptions, lanes: asItWas.lanes });
  const numbers = await reportNumbers();
  expect(numbers.map((number, i) => number >= numbersBefore[i]!)).toEqual(numbersBefore.map(() => true));
  // Where a span ended is not on the topic; a replay's ends where the log ended when it was asked for.
  const open = (rows: string[]) => rows.filter((row) => row.endsWith('"toSeq":null}'));
  expect(open(spans)).toEqual(open(asItWas.spans));
  const { laneNo } = await prisma.lane.findUniqueOrThrow({ where: { replayId } });
  expect(await prisma.span.count({ where: { laneNo } })).toBe(1);

  const after = await surroundings.publishEvents(20);
  await paused.change({ status: 'active', statusEpoch: 3 });
  await waiting.waitForCount(60, 30_000);
  await receiver.waitForCount(43, 30_000);
  const idsOf = ({ received }: typeof receiver) => received.map(({ headers }) => headers['webhook-id']);
  expect(idsOf(receiver).slice(3).sort()).toEqual([...before, ...after].sort());
  expect(idsOf(waiting).sort()).toEqual([...before, ...before, ...after].sort());
}, 120_000);

test('a dispatcher that began on an emptied mirror delivers once it is rebuilt, also what came before', async () => {
  const receiver = await surroundings.receive();
  await known(await surroundings.subscribe({ callbackUrl: receiver.url }));
  const ids = await surroundings.publishEvents(1);
  await receiver.waitForCount(1, 20_000);
  await dispatcher.stop();
  await prisma.subscription.deleteMany();
  await prisma.span.deleteMany();
  await startDispatcher(surroundings, settings);
  ids.push(...(await surroundings.publishEvents(2)));
  const arrived = () => prisma.event.count({ where: { webhookId: { in: ids } } });
  await waitUntil(async () => (await arrived()) === 3, { timeoutMs: 20_000 });
  expect((await rebuild()).code).toBe(0);
  ids.push(...(await surroundings.publishEvents(1)));
  await receiver.waitForCount(4, 30_000);
  expect(receiver.received.map(({ headers }) => headers['webhook-id']).sort()).toEqual(ids.sort());
}, 90_000);

test('killed half-way and run again, it puts all right, and what was deleted unheard goes', async () => {
  const knownBefore = await prisma.subscription.count();
  const many = await Promise.all(
    Array.from({ length: 150 }, () =>
      surroundings.subscribe({ callbackUrl: 'http://127.0.0.1:1', status: 'paused' }),
    ),
  );
  await waitUntil(async () => (await prisma.subscription.count()) === knownBefore + many.length, {
    timeoutMs: 40_000,
  });
  await waitUntil(async () => (await prisma.laneCommand.count()) === 0, { timeoutMs: 20_000 });
  const asItWas = await mirror();
  await prisma.subscription.deleteMany();
  const doomed = spawn(process.execPath, nodeArguments('rebuild-mirror'), {
    cwd: folder,
    env,
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => doomed.once('exit', (_code, signal) => resolve(signal)));
  await waitUntil(async () => (await prisma.subscription.count()) > 0, { timeoutMs: 30_000, intervalMs: 1 });
  doomed.kill('SIGKILL');
  expect(await ended).toBe('SIGKILL');
  expect(await prisma.subscription.count()).toBeLessThan(many.length);

  const { subscriptionId: wrong } = await prisma.subscription.findFirstOrThrow();
  await prisma.subscription.update({
    where: { subscriptionId: wrong },
    data: { callbackUrl: 'http://127.0.0.1:2' },
  });
  expect((await rebuild()).code).toBe(0);
  expect(await mirror()).toEqual(asItWas);

  const ids = many.map(({ record: { subscriptionId } }) => subscriptionId);
  const unheard = ids.find((id) => id !== wrong)!;
  await surroundings.publisher.publish([
    { topic: topics.subscription.name, key: unheard, value: null, headers: {} },
  ]);
  const ofUnheard = { where: { subscriptionId: unheard } };
  await waitUntil(async () => (await prisma.subscription.count(ofUnheard)) === 0, { timeoutMs: 20_000 });
  expect(await prisma.lane.count(ofUnheard)).toBe(0);

  const row = await prisma.subscription.findUniqueOrThrow({ where: { subscriptionId: wrong } });
  await prisma.subscription.create({
    data: { ...row, secrets: row.secrets ?? [], subscriptionId: 'sub_untold' },
  });
  const newer = { subscriptionId: wrong, version: row.version + 1 };
  await prisma.subscription.update({ where: { subscriptionId: wrong }, data: newer });
  await surroundings.publisher.publish([
    { topic: topics.subscription.name, key: 'sub_broken', value: Buffer.from('{'), headers: {} },
  ]);
  const { code, lines } = await rebuild();
  expect(code).toBe(1);
  expect(lines).toEqual([
    `${knownBefore + many.length} subscriptions are as the topic says.`,
    expect.stringMatching(/^The record at \d+:\d+ is no subscription and was passed over\.$/),
    'sub_untold is in the mirror and not on the topic; it was left as it is.',
  ]);
  const kept = { subscriptionId: { in: ['sub_untold', wrong] } };
  expect(await prisma.subscription.count({ where: kept })).toBe(2);
  expect(await prisma.subscription.count({ where: newer })).toBe(1);
}, 120_000);
