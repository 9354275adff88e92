import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { errorBody } from '@assistance/types';
import { startEventsApi, type EventsApi } from './start-events-api.ts';
import { subscribe, wanted } from './subscriptions-of.ts';

const S = '{subscriptionId}';
const R = '{replayId}';
const operations: [method: string, path: string, body?: object][] = [
  ['POST', '/subscriptions', wanted],
  ['GET', '/subscriptions'],
  ['GET', `/subscriptions/${S}`],
  ['PATCH', `/subscriptions/${S}`, { status: 'active' }],
  ['DELETE', `/subscriptions/${S}`],
  ['POST', `/subscriptions/${S}/rotate-secret`],
  ['POST', `/subscriptions/${S}/test`],
  ['POST', `/subscriptions/${S}/replay`, {}],
  ['GET', `/subscriptions/${S}/replays`],
  ['GET', `/subscriptions/${S}/replays/${R}`],
  ['DELETE', `/subscriptions/${S}/replays/${R}`],
  ['GET', '/event-types'],
  ['GET', '/event-types/case.status_changed'],
];
const needScope = operations.filter(([, path]) => !path.startsWith('/event-types'));
const onSubscription = operations.filter(([, path]) => path.includes(S));
const withBody = operations.filter(([, , body]) => body !== undefined);

let api: EventsApi;
let ids: { subscriptionId: string; replayId: string };
beforeAll(async () => {
  api = await startEventsApi();
  const caller = api.as('owner');
  const { subscriptionId } = await subscribe(caller);
  const { replayId } = (await caller('POST', `/subscriptions/${subscriptionId}/replay`)).body;
  ids = { subscriptionId, replayId };
});
afterAll(() => api.stop());

const at = (path: string, { subscriptionId, replayId } = ids) =>
  path.replace(S, subscriptionId).replace(R, replayId);

function expectError(answer: Awaited<ReturnType<EventsApi['bare']>>, status: number, code: string) {
  expect(answer.statusCode).toBe(status);
  expect(errorBody.strict().parse(answer.body).code).toBe(code);
  expect(answer.body.requestId).toBe(answer.headers['x-request-id']);
  expect(answer.headers['api-version']).toBe('1.0.0');
}

describe.each(operations)('%s %s', (method, path, body) => {
  test('without a token is 401 with a challenge that names no error', async () => {
    const answer = await api.bare(method, at(path), body);
    expectError(answer, 401, 'token_missing');
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="assistance"');
  });
  test('with a token that is none is 401', async () => {
    const answer = await api.bare(method, at(path), body, { authorization: 'Bearer x.y.z' });
    expectError(answer, 401, 'token_invalid');
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  });
});

describe.each(needScope)('%s %s', (method, path, body) => {
  test('with other scopes is 403, before it is known whether anything exists', async () => {
    for (const place of [at(path), at(path, { subscriptionId: 'sub_none', replayId: 'rep_none' })]) {
      const answer = await api.as('owner', ['applications:read', 'applications:write'])(method, place, body);
      expectError(answer, 403, 'insufficient_scope');
      expect(answer.headers['www-authenticate']).toContain('scope="events:manage"');
    }
  });
});

describe.each(onSubscription)('%s %s', (method, path, body) => {
  test('of another client, unknown, or with an id that is none is 404, all alike', async () => {
    const unknown = { subscriptionId: 'sub_01hqzrk2p9e0jt9f6q5x3w8v7n', replayId: ids.replayId };
    const malformed = { subscriptionId: "sub_1' or 1=1", replayId: ids.replayId };
    const answers = [
      await api.as('stranger')(method, at(path), body),
      await api.as('owner')(method, at(path, unknown), body),
      await api.as('owner')(method, at(path, malformed), body),
      await api.as('owner')(
        method,
        at(path, { ...ids, subscriptionId: ids.subscriptionId.toUpperCase() }),
        body,
      ),
    ];
    for (const answer of answers) expectError(answer, 404, 'not_found');
    expect(new Set(answers.map((answer) => answer.body.message)).size).toBe(1);
  });
});

test.each(operations.filter(([, path]) => path.includes(R)))(
  '%s %s of an unknown replay is 404',
  async (method, path) => {
    for (const replayId of ['rep_01hqzrk2p9e0jt9f6q5x3w8v7n', 'rep_x', ids.subscriptionId]) {
      expectError(await api.as('owner')(method, at(path, { ...ids, replayId })), 404, 'not_found');
    }
  },
);

describe.each(withBody)('%s %s', (method, path, body) => {
  test('with another content type is 415, with broken JSON 400', async () => {
    const caller = api.as('owner');
    expectError(
      await caller(method, at(path), body, { 'content-type': 'text/plain' }),
      415,
      'unsupported_media_type',
    );
    expectError(await caller(method, at(path), '{"a":'), 400, 'malformed_json');
  });
});

test('the other methods of every address are 405 with Allow', async () => {
  const expected: Record<string, string> = {
    '/subscriptions': 'GET, HEAD, POST',
    [`/subscriptions/${S}`]: 'DELETE, GET, HEAD, PATCH',
    [`/subscriptions/${S}/rotate-secret`]: 'POST',
    [`/subscriptions/${S}/test`]: 'POST',
    [`/subscriptions/${S}/replay`]: 'POST',
    [`/subscriptions/${S}/replays`]: 'GET, HEAD',
    [`/subscriptions/${S}/replays/${R}`]: 'DELETE, GET, HEAD',
    '/event-types': 'GET, HEAD',
    '/event-types/case.status_changed': 'GET, HEAD',
  };
  for (const [path, allow] of Object.entries(expected)) {
    const answer = await api.bare('PUT', at(path));
    expectError(answer, 405, 'method_not_allowed');
    expect([path, answer.headers.allow]).toEqual([path, allow]);
  }
});
