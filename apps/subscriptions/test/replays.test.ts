import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { cloudEvent, replay, replayList, subscriptionCommands, topics } from '@assistance/types';
import { startEventsApi, type Caller, type EventsApi } from './start-events-api.ts';
import { subscribe, takeOutbox } from './subscriptions-of.ts';

const DAY_MS = 86_400_000;
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
  await takeOutbox(api, subscriptionId);
});
afterAll(() => api.stop());

describe('POST …/replay', () => {
  test('without a body replays all of the last 7 days: 202 with the replay and its address', async () => {
    const { statusCode, headers, body } = await caller('POST', `${path}/replay`);
    expect(statusCode).toBe(202);
    expect(replay.strict().parse(body)).toEqual({
      replayId: expect.stringMatching(/^rep_[0-9a-z]{26}$/),
      subscriptionId,
      since: new Date(Date.parse(body.requestedAt) - 7 * DAY_MS).toISOString(),
      mode: 'all',
      status: 'pending',
      requestedAt: body.requestedAt,
      completedAt: null,
      progress: { matched: 0, delivered: 0, pending: 0, dead: 0, cancelled: 0, expired: 0 },
    });
    expect(headers.location).toBe(`/events/v1${path}/replays/${body.replayId}`);
    expect((await caller('GET', `${path}/replays/${body.replayId}`)).body).toEqual(body);
  });

  test('asks the dispatcher for it in the same commit', async () => {
    const { body } = await caller('POST', `${path}/replay`, { mode: 'missing' });
    const [command, ...more] = await takeOutbox(api, subscriptionId);
    expect(more).toEqual([]);
    expect(command?.topic).toBe(topics.command.name);
    const { type, subject, data } = cloudEvent.parse(command?.value);
    expect([type, subject]).toEqual(['subscription.replay_requested', subscriptionId]);
    const { replayId, since, mode, requestedAt } = body;
    expect(subscriptionCommands['subscription.replay_requested'].strict().parse(data)).toEqual({
      subscriptionId,
      version: 1,
      replayId,
      since,
      mode,
      requestedAt,
    });
  });

  test('applies the since that is asked for, and says which', async () => {
    const since = new Date(Date.now() - DAY_MS);
    const { body } = await caller('POST', `${path}/replay`, { since, mode: 'failed' });
    expect(body).toMatchObject({ since: since.toISOString(), mode: 'failed' });
    const early = await caller('POST', `${path}/replay`, { since: '2001-01-01T00:00:00+05:00' });
    expect(Date.parse(early.body.since)).toBe(Date.parse(early.body.requestedAt) - 7 * DAY_MS);
    const ahead = await caller('POST', `${path}/replay`, {
      since: new Date(Date.now() + 30_000),
      mode: null,
    });
    expect(ahead.statusCode).toBe(202);
    expect(Date.parse(ahead.body.since)).toBeLessThanOrEqual(Date.parse(ahead.body.requestedAt));
  });

  test.each<[string, unknown, object]>([
    [
      'more than a minute ahead',
      { since: '2999-01-01T00:00:00Z' },
      { pointer: '/since', code: 'in_the_future' },
    ],
    ['a date without time', { since: '2026-01-01' }, { pointer: '/since', code: 'invalid_format' }],
    ['a time without zone', { since: '2026-01-01T00:00:00' }, { pointer: '/since', code: 'invalid_format' }],
    ['a day that is none', { since: '2026-02-30T00:00:00Z' }, { pointer: '/since', code: 'invalid_format' }],
    ['a number', { since: 1767225600 }, { pointer: '/since', code: 'invalid_type' }],
    ['an empty text', { since: '' }, { pointer: '/since', code: 'invalid_format' }],
    ['an unknown mode', { mode: 'everything' }, { pointer: '/mode', code: 'invalid_value' }],
    ['an unknown field', { until: '2026-01-01T00:00:00Z' }, { pointer: '/until', code: 'unknown_field' }],
  ])('%s is 400 and asks for nothing', async (_what, body, fault) => {
    const answer = await caller('POST', `${path}/replay`, body);
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toMatchObject({
      code: 'validation_error',
      details: [expect.objectContaining(fault)],
    });
    expect(await takeOutbox(api, subscriptionId)).toEqual([]);
  });

  test('three unfinished ones are the most, also when many ask at once; a finished one makes room', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => caller('POST', `${path}/replay`)));
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([
      202,
      202,
      202,
      ...Array(5).fill(409),
    ]);
    expect(answers.find(({ statusCode }) => statusCode === 409)?.body.code).toBe('too_many_replays');
    const { replayId } = answers.find(({ statusCode }) => statusCode === 202)!.body;
    await caller('DELETE', `${path}/replays/${replayId}`);
    expect((await caller('POST', `${path}/replay`)).statusCode).toBe(202);
  });

  test('is taken while paused', async () => {
    await caller('PATCH', path, { status: 'paused' });
    expect((await caller('POST', `${path}/replay`)).statusCode).toBe(202);
  });
});

describe('GET …/replays', () => {
  test('pages through all of them, newest first, each once', async () => {
    const asked: string[] = [];
    for (let i = 0; i < 5; i++) {
      const { body } = await caller('POST', `${path}/replay`);
      asked.unshift(body.replayId);
      await caller('DELETE', `${path}/replays/${body.replayId}`);
    }
    const seen: string[] = [];
    let query = '?limit=2';
    for (let pages = 1; ; pages++) {
      const { statusCode, body } = await caller('GET', `${path}/replays${query}`);
      expect(statusCode).toBe(200);
      const { data, page } = replayList.strict().parse(body);
      seen.push(...data.map(({ replayId }) => replayId));
      expect(page.limit).toBe(2);
      if (page.nextCursor === null) {
        expect(pages).toBe(3);
        break;
      }
      query = `?limit=2&cursor=${page.nextCursor}`;
    }
    expect(seen).toEqual(asked);
  });

  test('is empty for a subscription without any, with the default limit', async () => {
    const { body } = await caller('GET', `${path}/replays`);
    expect(body).toEqual({ data: [], page: { nextCursor: null, limit: 50 } });
  });

  test("a cursor of another subscription's list is no cursor", async () => {
    for (let i = 0; i < 2; i++) await caller('POST', `${path}/replay`);
    const { nextCursor } = (await caller('GET', `${path}/replays?limit=1`)).body.page;
    const other = await subscribe(caller);
    const answer = await caller('GET', `/subscriptions/${other.subscriptionId}/replays?cursor=${nextCursor}`);
    expect(answer.statusCode).toBe(400);
    expect(answer.body.code).toBe('invalid_cursor');
  });
});

describe('DELETE …/replays/{replayId}', () => {
  test('cancels an unfinished one and tells the dispatcher', async () => {
    const { replayId } = (await caller('POST', `${path}/replay`)).body;
    await takeOutbox(api, subscriptionId);
    const { statusCode, rawBody } = await caller('DELETE', `${path}/replays/${replayId}`);
    expect([statusCode, rawBody.length]).toEqual([204, 0]);
    expect((await caller('GET', `${path}/replays/${replayId}`)).body).toMatchObject({
      status: 'cancelled',
      completedAt: expect.any(String),
    });
    const [command] = await takeOutbox(api, subscriptionId);
    expect(command?.value).toMatchObject({
      type: 'subscription.replay_cancelled',
      data: { subscriptionId, version: 1, replayId },
    });
  });

  test('does nothing to a finished one', async () => {
    const { replayId } = (await caller('POST', `${path}/replay`)).body;
    const completedAt = new Date();
    await api.prisma.replay.update({ where: { replayId }, data: { status: 'completed', completedAt } });
    await takeOutbox(api, subscriptionId);
    expect((await caller('DELETE', `${path}/replays/${replayId}`)).statusCode).toBe(204);
    expect((await caller('GET', `${path}/replays/${replayId}`)).body).toMatchObject({
      status: 'completed',
      completedAt: completedAt.toISOString(),
    });
    expect(await takeOutbox(api, subscriptionId)).toEqual([]);
  });
});

test('a replay of another subscription of the same client is 404 beneath this one', async () => {
  const other = await subscribe(caller);
  const { replayId } = (await caller('POST', `/subscriptions/${other.subscriptionId}/replay`)).body;
  expect((await caller('GET', `${path}/replays/${replayId}`)).statusCode).toBe(404);
  expect((await caller('DELETE', `${path}/replays/${replayId}`)).statusCode).toBe(404);
});
