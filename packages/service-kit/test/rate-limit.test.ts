import { afterEach, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { z } from 'zod';
import { errorBody } from '@assistance/types';
import { waitUntil } from '@assistance/test-kit';
import { route } from '../src/index.ts';
import { call, type Called } from './support/call.ts';
import { readAnswer } from './support/raw-request.ts';
import { startApi, type Api } from './support/start-api.ts';

let api: Api;
afterEach(() => api.stop());

const start = async (rateLimitPerSecond = 5) => {
  api = await startApi(
    [
      route({ method: 'get', path: '/things', scope: 'any', handle: () => ({ status: 200, body: [] }) }),
      route({
        ...{ method: 'get', path: '/managed', scope: 'events:manage' },
        handle: () => ({ status: 200, body: [] }),
      }),
      route({
        ...{ method: 'post', path: '/things', scope: 'any', body: z.strictObject({}) },
        handle: () => ({ status: 201, body: {} }),
      }),
    ],
    { rateLimitPerSecond },
  );
};
const ask = (headers: Record<string, string>) => call('GET', `${api.url}/things`, { headers });
const statuses = (answers: Called[]) => answers.map(({ status }) => status).sort();

/** Asks so often at once that a change of the second in between cannot hide the limit. */
const flood = (headers: () => Record<string, string>) =>
  Promise.all(Array.from({ length: 16 }, () => ask(headers())));

test('more than the limit of one client is 429 with Retry-After and the RateLimit headers of the IETF draft', async () => {
  await start();
  // Draft 8: a name, then quota, window in seconds, and whose it is, as a byte sequence.
  const policy = /^"[^"]+"; q=5; w=1; pk=:[A-Za-z0-9+/]+=*:$/;
  const answers = await flood(() => api.as('eager'));
  const limited = answers.filter(({ status }) => status === 429);
  // Five of each second are let through, also of those that arrive in the same moment; they fall into two seconds at most.
  expect(answers.length - limited.length).toBeGreaterThanOrEqual(5);
  expect(answers.length - limited.length).toBeLessThanOrEqual(10);
  for (const answer of limited) {
    expect(errorBody.strict().parse(answer.body).code).toBe('rate_limited');
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.headers['ratelimit']).toMatch(/^"[^"]+"; r=0; t=1$/);
    expect(answer.headers['ratelimit-policy']).toMatch(policy);
  }
  const [allowed] = answers.filter(({ status }) => status === 200);
  expect(allowed?.headers['ratelimit']).toMatch(/^"[^"]+"; r=\d; t=[01]$/);
  expect(allowed?.headers['ratelimit-policy']).toMatch(policy);
  expect((await ask(api.as('patient'))).status).toBe(200);
});

test('the rate comes before the scope: who asks too often is told so, also of what it may not ask', async () => {
  await start();
  const headers = api.as('eager');
  const answers = await Promise.all(
    Array.from({ length: 16 }, () => call('GET', `${api.url}/managed`, { headers })),
  );
  expect(new Set(statuses(answers))).toEqual(new Set([403, 429]));
});

test('a flood of refused tokens from one address becomes 429, and does not touch good ones', async () => {
  await start();
  const answers = await flood(() => ({ authorization: 'Bearer nonsense' }));
  expect(statuses(answers).filter((status) => status === 401).length).toBeLessThanOrEqual(10);
  expect(statuses(answers)).toContain(429);
  expect((await ask(api.as('good'))).status).toBe(200);
});

test('a caller whose large bodies stall gets 429 for more of them, until they are over; nobody else does', async () => {
  await start(1_000);
  const head = (clientId: string, length: number): string =>
    [
      'POST /things/v1/things HTTP/1.1',
      'Host: x',
      `Authorization: ${api.as(clientId).authorization}`,
      'Content-Type: application/json',
      `Content-Length: ${length}`,
      '',
      '{',
    ].join('\r\n');
  const begin = async (clientId: string) => {
    const socket = connect(api.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(head(clientId, 256 * 1024));
    return socket;
  };
  const stalled = await Promise.all(Array.from({ length: 40 }, () => begin('staller')));
  const refused = await Promise.race(stalled.map(async (socket) => (await readAnswer(socket)).status));
  expect(refused).toBe(429);
  const post = (clientId: string) =>
    call('POST', `${api.url}/things`, {
      headers: { ...api.as(clientId), 'content-type': 'application/json' },
      body: `{}${' '.repeat(200_000)}`,
    });
  expect((await post('staller')).status).toBe(429);
  expect((await post('other')).status).toBe(201);
  for (const socket of stalled) socket.destroy();
  await waitUntil(async () => (await post('staller')).status === 201);
});
