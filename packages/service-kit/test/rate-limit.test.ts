import { afterEach, expect, test } from '@jest/globals';
import { errorBody } from '@assistance/types';
import { route } from '../src/index.ts';
import { call, type Called } from './support/call.ts';
import { startApi, type Api } from './support/start-api.ts';

let api: Api;
afterEach(() => api.stop());

const start = async () => {
  api = await startApi(
    [route({ method: 'get', path: '/things', scope: 'any', handle: () => ({ status: 200, body: [] }) })],
    { rateLimitPerSecond: 5 },
  );
};
const ask = (headers: Record<string, string>) => call('GET', `${api.url}/things`, { headers });
const statuses = (answers: Called[]) => answers.map(({ status }) => status).sort();

/** Asks so often at once that a change of the second in between cannot hide the limit. */
const flood = (headers: () => Record<string, string>) =>
  Promise.all(Array.from({ length: 16 }, () => ask(headers())));

test('more than the limit of one client is 429 with Retry-After and the RateLimit headers of the IETF draft', async () => {
  await start();
  const answers = await flood(() => api.as('eager'));
  const limited = answers.filter(({ status }) => status === 429);
  // Five of each second are let through, also of those that arrive in the same moment.
  expect([5, 10]).toContain(answers.length - limited.length);
  for (const answer of limited) {
    expect(errorBody.strict().parse(answer.body).code).toBe('rate_limited');
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.headers['ratelimit']).toMatch(/r=0; t=1/);
  }
  const [allowed] = answers.filter(({ status }) => status === 200);
  expect(allowed?.headers['ratelimit']).toMatch(/r=\d; t=\d/);
  expect(allowed?.headers['ratelimit-policy']).toMatch(/q=5; w=1/);
  expect((await ask(api.as('patient'))).status).toBe(200);
});

test('a flood of refused tokens from one address becomes 429, and does not touch good ones', async () => {
  await start();
  const answers = await flood(() => ({ authorization: 'Bearer nonsense' }));
  expect(statuses(answers).filter((status) => status === 401).length).toBeLessThanOrEqual(10);
  expect(statuses(answers)).toContain(429);
  expect((await ask(api.as('good'))).status).toBe(200);
});
