import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startEventsApi, type Caller, type EventsApi } from './start-events-api.ts';
import { subscribe, takeOutbox, takeRecord } from './subscriptions-of.ts';

let api: EventsApi;
let caller: Caller;
let made: { subscriptionId: string; createdAt: string };
let path: string;
beforeAll(async () => {
  api = await startEventsApi();
  caller = api.as('partner');
});
beforeEach(async () => {
  made = await subscribe(caller);
  path = `/subscriptions/${made.subscriptionId}`;
  await takeOutbox(api, made.subscriptionId);
});
afterAll(() => api.stop());

const judge = (data: { judgedStatus: string; judgedReason: object; judgedNumber: number }) =>
  api.prisma.subscription.update({ where: { subscriptionId: made.subscriptionId }, data });

test('sets what is named, keeps the rest, and tells it under the next version', async () => {
  const { statusCode, body } = await caller('PATCH', path, { ordering: 'subject' });
  expect(statusCode).toBe(200);
  expect(body).toEqual({ ...made, signingSecret: undefined, ordering: 'subject', version: 2 });
  expect(await takeRecord(api, made.subscriptionId)).toMatchObject({
    version: 2,
    ordering: 'subject',
    statusEpoch: 1,
  });
  expect((await caller('GET', path)).body).toEqual(body);
});

test('an event type that stays keeps the time it was added; a new one gets its own', async () => {
  const { body } = await caller('PATCH', path, { eventTypes: ['document.available', 'application.decided'] });
  expect(body.eventTypes).toEqual(['application.decided', 'document.available']);
  const [kept, added] = (await takeRecord(api, made.subscriptionId)).eventTypes;
  expect(kept).toEqual({ type: 'application.decided', addedAt: made.createdAt });
  expect(Date.parse(added?.addedAt ?? '')).toBeGreaterThan(Date.parse(made.createdAt));
});

describe("the owner's word on status and callbackUrl begins a new epoch:", () => {
  const failing = { code: 'failing', since: '2026-01-01T00:00:00.000Z' };
  const gone = { code: 'gone', since: '2026-01-01T00:00:00.000Z' };

  test('active while failing means try now', async () => {
    await judge({ judgedStatus: 'failing', judgedReason: failing, judgedNumber: 5 });
    expect((await caller('GET', path)).body).toMatchObject({ status: 'failing', statusReason: failing });
    const { body } = await caller('PATCH', path, { status: 'active' });
    expect(body).toMatchObject({ status: 'active', statusReason: null, version: 2 });
    expect(await takeRecord(api, made.subscriptionId)).toMatchObject({ status: 'active', statusEpoch: 2 });
  });

  test('a new address while gone means try there', async () => {
    await judge({ judgedStatus: 'paused', judgedReason: gone, judgedNumber: 5 });
    const { body } = await caller('PATCH', path, { callbackUrl: 'https://example.com/new' });
    expect(body).toMatchObject({
      status: 'active',
      statusReason: null,
      callbackUrl: 'https://example.com/new',
    });
    expect(await takeRecord(api, made.subscriptionId)).toMatchObject({ statusEpoch: 2 });
  });

  test('paused is paused by its owner, since when it was said first', async () => {
    const paused = (await caller('PATCH', path, { status: 'paused' })).body;
    expect(paused).toMatchObject({ status: 'paused', statusReason: { code: 'owner' } });
    const again = (await caller('PATCH', path, { status: 'paused', ordering: 'subject' })).body;
    expect(again.statusReason).toEqual(paused.statusReason);
    const elsewhere = (await caller('PATCH', path, { callbackUrl: 'https://example.com/new' })).body;
    expect(elsewhere).toMatchObject({ status: 'paused', statusReason: paused.statusReason });
    const resumed = (await caller('PATCH', path, { status: 'active' })).body;
    expect(resumed).toMatchObject({ status: 'active', statusReason: null, version: 5 });
    expect(
      (await takeOutbox(api, made.subscriptionId)).map(({ value }) => [value.status, value.statusEpoch]),
    ).toEqual([
      ['paused', 2],
      ['paused', 3],
      ['paused', 4],
      ['active', 5],
    ]);
  });

  test('a change of something else is none', async () => {
    await judge({ judgedStatus: 'failing', judgedReason: failing, judgedNumber: 5 });
    const { body } = await caller('PATCH', path, { eventTypes: ['document.available'] });
    expect(body).toMatchObject({ status: 'failing', statusReason: failing });
    expect(await takeRecord(api, made.subscriptionId)).toMatchObject({ statusEpoch: 1 });
  });
});

test('changes at once follow one another: each has a version of its own, told in order', async () => {
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) => caller('PATCH', path, { callbackUrl: `https://example.com/${i}` })),
  );
  expect(answers.map(({ body }) => body.version).sort((a, b) => a - b)).toEqual([
    2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
  ]);
  const told = await takeOutbox(api, made.subscriptionId);
  expect(told.map(({ value }) => value.version)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect((await caller('GET', path)).body.callbackUrl).toBe(told.at(-1)?.value.callbackUrl);
});

test.each<[string, unknown, object]>([
  ['nothing', {}, { pointer: '' }],
  ['nothing but nulls', { status: null, eventTypes: null }, { pointer: '' }],
  ['failing, which only deliveries can be', { status: 'failing' }, { pointer: '/status' }],
  ['no event types', { eventTypes: [] }, { pointer: '/eventTypes' }],
  ['a private address', { callbackUrl: 'https://192.168.0.1/' }, { pointer: '/callbackUrl' }],
  [
    'an unknown field',
    { status: 'active', createdAt: '2026-01-01T00:00:00.000Z' },
    { pointer: '/createdAt' },
  ],
])('%s is 400 and changes nothing', async (_what, body, fault) => {
  const answer = await caller('PATCH', path, body);
  expect(answer.statusCode).toBe(400);
  expect(answer.body).toMatchObject({ code: 'validation_error', details: [expect.objectContaining(fault)] });
  expect((await caller('GET', path)).body.version).toBe(1);
  expect(await takeOutbox(api, made.subscriptionId)).toEqual([]);
});
