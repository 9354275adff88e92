import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startSandbox, type StartedSandbox } from './start-sandbox.ts';
import { startUpstream, type Upstream } from './start-upstream.ts';

let sandbox: StartedSandbox;
let supervisor: Upstream;
const asked: { url: string | undefined; body: string }[] = [];
beforeAll(async () => {
  supervisor = await startUpstream(async (request, response) => {
    asked.push({ url: request.url, body: await text(request) });
    const known = request.url === '/processes/kafka';
    response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' });
    response.end(known ? '{"name":"kafka","hold":true,"pid":null}' : '{}');
  });
  sandbox = await startSandbox({ SUPERVISOR_URL: supervisor.url });
});
afterAll(async () => {
  await sandbox.discard();
  await supervisor.goAway();
});

const hold = (name: string, json: object = { hold: true }) =>
  sandbox.control.post(`processes/${name}`, { json });

test('what is asked goes to the supervisor, and its answer comes back', async () => {
  const { statusCode, body } = await hold('kafka');
  expect(statusCode).toBe(200);
  expect(body).toEqual({ name: 'kafka', hold: true, pid: null });
  expect(asked).toEqual([{ url: '/processes/kafka', body: '{"hold":true}' }]);
});

test('an unknown process is 404, a wrong body 400', async () => {
  expect(await hold('unknown')).toMatchObject({ statusCode: 404, body: { code: 'not_found' } });
  expect(await hold('..%2fother')).toMatchObject({ statusCode: 404 });
  expect(asked.at(-1)?.url).toBe('/processes/..%2Fother');
  expect(await hold('kafka', { hold: 'yes' })).toMatchObject({
    statusCode: 400,
    body: { code: 'validation_error' },
  });
  expect(await hold('kafka', {})).toMatchObject({ statusCode: 400 });
});

test('while the supervisor is away it is 503', async () => {
  await supervisor.goAway();
  expect(await hold('kafka')).toMatchObject({ statusCode: 503, body: { code: 'unavailable' } });
});
