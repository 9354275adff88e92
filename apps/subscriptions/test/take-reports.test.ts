import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { cloudEventOf, UnacceptableRecord, type ReceivedRecord } from '@assistance/service-kit';
import { topics } from '@assistance/types';
import { takeReports } from '../src/take-reports.ts';
import { startEventsApi, type Caller, type EventsApi } from './start-events-api.ts';
import { subscribe } from './subscriptions-of.ts';

let api: EventsApi;
let caller: Caller;
let subscriptionId: string;
let path: string;
beforeAll(async () => {
  api = await startEventsApi();
  caller = api.as('partner');
});
beforeEach(async () => {
  ({ subscriptionId } = await subscribe(caller));
  path = `/subscriptions/${subscriptionId}`;
});
afterAll(() => api.stop());

const since = '2026-01-01T00:00:00.000Z';
const failing = { code: 'failing', since };
const tooLong = { code: 'failing_too_long', since };

const recordOf = (value: unknown): ReceivedRecord => ({
  topic: topics.report.name,
  partition: 0,
  offset: '0',
  key: subscriptionId,
  value: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)),
  headers: {},
  timestamp: new Date(),
});
const report = (type: string, data: object) =>
  recordOf(
    cloudEventOf({
      id: randomUUID(),
      source: '/test',
      type,
      subject: subscriptionId,
      time: new Date(),
      data: { subscriptionId, ...data },
    }),
  );
const judged = (data: object) => report('subscription.status_judged', data);
const take = (...records: ReceivedRecord[]) => takeReports(records, { prisma: api.prisma });
const shown = async () => {
  const { status, statusReason, version } = (await caller('GET', path)).body;
  return { status, statusReason, version };
};

describe('a judgement', () => {
  test('is shown, without a new version: the owner changed nothing', async () => {
    await take(judged({ statusEpoch: 1, number: 1, status: 'failing', reason: failing }));
    expect(await shown()).toEqual({ status: 'failing', statusReason: failing, version: 1 });
    await take(judged({ statusEpoch: 1, number: 2, status: 'paused', reason: tooLong }));
    expect(await shown()).toEqual({ status: 'paused', statusReason: tooLong, version: 1 });
    await take(judged({ statusEpoch: 1, number: 3, status: 'active', reason: null }));
    expect(await shown()).toEqual({ status: 'active', statusReason: null, version: 1 });
  });

  test('that comes twice or late changes nothing', async () => {
    const first = judged({ statusEpoch: 1, number: 2 ** 40, status: 'failing', reason: failing });
    const second = judged({ statusEpoch: 1, number: 2 ** 40 + 1, status: 'active', reason: null });
    await take(first, second, second, first);
    expect(await shown()).toMatchObject({ status: 'active' });
  });

  test("of an epoch before the owner's last word is passed over, whatever its number", async () => {
    await caller('PATCH', path, { status: 'active' });
    await take(judged({ statusEpoch: 1, number: 99, status: 'paused', reason: tooLong }));
    expect(await shown()).toMatchObject({ status: 'active' });
    await take(judged({ statusEpoch: 2, number: 1, status: 'failing', reason: failing }));
    expect(await shown()).toMatchObject({ status: 'failing' });
  });

  test('never wakes a subscription that its owner paused', async () => {
    await caller('PATCH', path, { status: 'paused' });
    await take(judged({ statusEpoch: 2, number: 1, status: 'active', reason: null }));
    expect(await shown()).toMatchObject({ status: 'paused', statusReason: { code: 'owner' } });
  });

  test('of a subscription that is deleted or unknown is passed over', async () => {
    await caller('DELETE', path);
    await take(
      judged({ statusEpoch: 2, number: 1, status: 'failing', reason: failing }),
      judged({
        subscriptionId: 'sub_unknown',
        statusEpoch: 1,
        number: 1,
        status: 'failing',
        reason: failing,
      }),
    );
    const row = await api.prisma.subscription.findUniqueOrThrow({ where: { subscriptionId } });
    expect(row.judgedStatus).toBeNull();
  });
});

describe('progress of a replay', () => {
  const counts = { matched: 10, delivered: 0, pending: 10, dead: 0, cancelled: 0, expired: 0 };
  let replayId: string;
  beforeEach(async () => {
    ({ replayId } = (await caller('POST', `${path}/replay`)).body);
  });
  const progressed = (data: object) =>
    report('subscription.replay_progressed', { replayId, completedAt: null, progress: counts, ...data });
  const replay = async () => (await caller('GET', `${path}/replays/${replayId}`)).body;

  test('is shown to its end', async () => {
    const running = { ...counts, delivered: 4, pending: 6 };
    await take(progressed({ number: 1, status: 'running', progress: running }));
    expect(await replay()).toMatchObject({ status: 'running', completedAt: null, progress: running });
    const all = { matched: 10, delivered: 7, pending: 0, dead: 1, cancelled: 0, expired: 2 };
    await take(progressed({ number: 2, status: 'completed', completedAt: since, progress: all }));
    expect(await replay()).toMatchObject({ status: 'completed', completedAt: since, progress: all });
  });

  test('that comes twice or late changes nothing', async () => {
    const late = progressed({
      number: 1,
      status: 'running',
      progress: { ...counts, delivered: 1, pending: 9 },
    });
    const newest = { ...counts, delivered: 5, pending: 5 };
    await take(progressed({ number: 5, status: 'running', progress: newest }), late, late);
    expect((await replay()).progress).toEqual(newest);
  });

  test('never takes delivered back', async () => {
    await take(progressed({ number: 1, status: 'running', progress: { ...counts, delivered: 5 } }));
    await take(progressed({ number: 2, status: 'running', progress: { ...counts, delivered: 3 } }));
    expect((await replay()).progress.delivered).toBe(5);
  });

  test('does not bring back one that its owner cancelled: what was pending is cancelled, what was sent is counted', async () => {
    await take(
      progressed({ number: 1, status: 'running', progress: { ...counts, delivered: 3, pending: 7 } }),
    );
    await caller('DELETE', `${path}/replays/${replayId}`);
    const { completedAt, progress } = await replay();
    expect(progress).toEqual({ ...counts, delivered: 3, pending: 0, cancelled: 7 });
    const end = { ...counts, delivered: 4, pending: 0, cancelled: 6 };
    await take(
      progressed({ number: 2, status: 'running', progress: { ...counts, delivered: 4, pending: 6 } }),
    );
    expect(await replay()).toMatchObject({ status: 'cancelled', completedAt, progress: end });
    await take(progressed({ number: 3, status: 'cancelled', completedAt: since, progress: end }));
    expect(await replay()).toMatchObject({ status: 'cancelled', completedAt, progress: end });
  });

  test("with another subscription's name is passed over", async () => {
    await take(
      progressed({ subscriptionId: 'sub_other', number: 9, status: 'completed', completedAt: since }),
    );
    expect(await replay()).toMatchObject({ status: 'pending' });
  });
});

test('a type that this version does not know is passed over', async () => {
  await take(report('subscription.admired', { number: 1 }));
  expect(await shown()).toMatchObject({ status: 'active' });
});

test.each([
  ['no JSON', 'not json'],
  ['no CloudEvent', { type: 'subscription.status_judged' }],
  [
    'data that does not fit',
    { specversion: '1.0', id: '1', source: '/t', type: 'subscription.status_judged', data: {} },
  ],
])('%s is unacceptable', async (_what, value) => {
  await expect(take(recordOf(value))).rejects.toThrow(UnacceptableRecord);
});
