import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { errorBody } from '@assistance/types';
import { ApiError, notFound, pageQuery, route } from '../src/index.ts';
import { call, type Called } from './support/call.ts';
import { startApi, type Api } from './support/start-api.ts';

let api: Api;
beforeAll(async () => {
  const thing = z.strictObject({ name: z.string() });
  api = await startApi([
    route({
      method: 'post',
      path: '/things',
      scope: 'applications:write',
      body: thing,
      query: z.strictObject({ dry: z.string().optional() }),
      checkHeaders: (header) => {
        if (header('idempotency-key').length === 0) {
          throw new ApiError('idempotency_key_required', 'Send an Idempotency-Key.');
        }
      },
      handle: ({ caller, body, requestId }) => ({
        status: 201,
        body: { name: body.name, owner: caller.owner, requestId },
        headers: { Location: '/things/v1/things/1' },
      }),
    }),
    route({
      method: 'get',
      path: '/things/:id',
      scope: 'applications:read',
      handle: ({ params }) => {
        if (params['id'] === 'throws') throw new Error('password=hunter2');
        if (params['id'] !== '1') throw notFound('thing');
        return { status: 200, body: { id: '1' } };
      },
    }),
    route({
      method: 'get',
      path: '/list',
      scope: 'any',
      query: pageQuery,
      handle: ({ query }) => ({ status: 200, body: query }),
    }),
    route({ method: 'delete', path: '/things/:id', scope: 'any', handle: () => ({ status: 204 }) }),
    route({
      method: 'get',
      path: '/page',
      scope: 'none',
      handle: () => ({ status: 200, body: '<p>', headers: { 'Content-Type': 'text/html; charset=utf-8' } }),
    }),
  ]);
});
afterAll(() => api.stop());

const writer = () => api.as('writer', 'applications:write');
const reader = () => api.as('reader', 'applications:read');
const json = { 'content-type': 'application/json' };
const expectError = (answer: Called, status: number, code: string): void => {
  expect([answer.status, answer.body.code]).toEqual([status, code]);
  errorBody.strict().parse(answer.body);
  expect(answer.body.requestId).toBe(answer.headers['x-request-id']);
  expect(answer.headers['api-version']).toBe('1.0.0');
};

/** From a request with every fault to one with none: each step mends what was refused before. */
test('checks come in this order: path, method, token, scope, media type, JSON, headers, query, body, verb', async () => {
  const nothing = { headers: { 'content-type': 'text/plain' }, body: '{"name' };
  expectError(await call('PUT', `${api.url}/nowhere?x=1`, nothing), 404, 'not_found');
  expectError(await call('PUT', `${api.url}/things?x=1`, nothing), 405, 'method_not_allowed');
  expectError(await call('POST', `${api.url}/things?x=1`, nothing), 401, 'token_missing');

  const badToken = { ...nothing, headers: { ...nothing.headers, authorization: 'Bearer x.y.z' } };
  expectError(await call('POST', `${api.url}/things?x=1`, badToken), 401, 'token_invalid');
  const noScope = { ...nothing, headers: { ...nothing.headers, ...reader() } };
  expectError(await call('POST', `${api.url}/things?x=1`, noScope), 403, 'insufficient_scope');
  const text = { ...nothing, headers: { ...nothing.headers, ...writer() } };
  expectError(await call('POST', `${api.url}/things?x=1`, text), 415, 'unsupported_media_type');
  const headers = { ...json, ...writer() };
  expectError(
    await call('POST', `${api.url}/things?x=1`, { headers, body: '{"name' }),
    400,
    'malformed_json',
  );
  expectError(
    await call('POST', `${api.url}/things?x=1`, { headers, body: '{}' }),
    400,
    'idempotency_key_required',
  );

  const all = { ...headers, 'idempotency-key': 'k' };
  const query = await call('POST', `${api.url}/things?x=1`, { headers: all, body: '{}' });
  expectError(query, 400, 'validation_error');
  expect(query.body.details).toEqual([expect.objectContaining({ parameter: 'x' })]);
  const body = await call('POST', `${api.url}/things`, { headers: all, body: '{}' });
  expectError(body, 400, 'validation_error');
  expect(body.body.details).toEqual([expect.objectContaining({ pointer: '/name' })]);

  const good = await call('POST', `${api.url}/things`, { headers: all, body: '{"name":"n"}' });
  expect(good.status).toBe(201);
  expect(good.body.owner).toBe(`${api.issuer.issuer}#writer`);
  expect(good.headers['location']).toBe('/things/v1/things/1');
});

test('a thing that is not there is 404 only to a caller who may ask', async () => {
  const url = `${api.url}/things/2`;
  expectError(await call('GET', url), 401, 'token_missing');
  expectError(await call('GET', url, { headers: writer() }), 403, 'insufficient_scope');
  expectError(await call('GET', url, { headers: reader() }), 404, 'not_found');
});

describe('paths', () => {
  test.each([
    '/',
    '/things',
    '/things/v1',
    '/things/v1/',
    '/things/v1/things/',
    '/THINGS/v1/things',
    '/things/v1/Things',
    '/things/v1//things',
    '/things/v1/things/1/2',
    '//things/v1/things',
  ])('%s is not there', async (path) => {
    expectError(
      await call('POST', `http://127.0.0.1:${api.port}${path}`, { headers: writer() }),
      404,
      'not_found',
    );
  });
});

describe('methods', () => {
  test.each([
    ['PUT', '/things', 'POST'],
    ['GET', '/things', 'POST'],
    ['HEAD', '/things', 'POST'],
    ['OPTIONS', '/things', 'POST'],
    ['PATCH', '/things/1', 'DELETE, GET, HEAD'],
    ['OPTIONS', '/things/1', 'DELETE, GET, HEAD'],
    ['TRACE', '/things/1', 'DELETE, GET, HEAD'],
    ['POST', '/page', 'GET, HEAD'],
  ])('%s %s is 405 and says what is allowed', async (method, path, allow) => {
    const answer = await call(method, api.url + path);
    expect([answer.status, answer.headers['allow']]).toEqual([405, allow]);
    if (method !== 'HEAD') expectError(answer, 405, 'method_not_allowed');
  });

  test('HEAD answers as GET does, without the body', async () => {
    for (const [path, headers] of [
      ['/things/1', reader()],
      ['/things/2', reader()],
      ['/page', {}],
    ] as const) {
      const got = await call('GET', api.url + path, { headers: { ...headers } });
      const head = await call('HEAD', api.url + path, { headers: { ...headers } });
      expect([head.status, head.bytes.length]).toEqual([got.status, 0]);
      expect(head.headers['content-type']).toBe(got.headers['content-type']);
      expect(head.headers['content-length']).toBe(got.headers['content-length']);
    }
  });
});

test('a 204 has no body and no content type', async () => {
  const { status, headers, bytes } = await call('DELETE', `${api.url}/things/1`, { headers: reader() });
  expect([status, bytes.length, headers['content-type']]).toEqual([204, 0, undefined]);
});

test('what is unknown is 500 and says nothing of what happened', async () => {
  const answer = await call('GET', `${api.url}/things/throws`, { headers: reader() });
  expectError(answer, 500, 'internal_error');
  expect(JSON.stringify(answer.body)).not.toMatch(/hunter2|Error|at /);
});

describe('the request id', () => {
  const ask = (id: string) => call('GET', `${api.url}/page`, { headers: { 'x-request-id': id } });

  test("is the caller's own when that is a uuid", async () => {
    const id = randomUUID();
    expect((await ask(id)).headers['x-request-id']).toBe(id);
  });
  test.each(['', 'abc', '1234', `${randomUUID()}x`, `{${randomUUID()}}`, `${randomUUID()}, ${randomUUID()}`])(
    'is a new one in place of %j',
    async (id) => {
      const given = (await ask(id)).headers['x-request-id'];
      expect(given).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(given).not.toBe(id);
    },
  );
  test('is what the handler and the error body are given', async () => {
    const id = randomUUID();
    const headers = { ...json, ...writer(), 'idempotency-key': 'k', 'x-request-id': id };
    const good = await call('POST', `${api.url}/things`, { headers, body: '{"name":"n"}' });
    expect(good.body.requestId).toBe(id);
    const bad = await call('POST', `${api.url}/things`, { headers, body: '{}' });
    expect(bad.body.requestId).toBe(id);
  });
});

test('a route without a token takes whatever parameters come; others none but their own', async () => {
  expect((await call('GET', `${api.url}/page?v=1`)).status).toBe(200);
  expectError(await call('GET', `${api.url}/things/1?v=1`, { headers: reader() }), 400, 'validation_error');
});

describe('the parameters of a list', () => {
  const list = (query: string) => call('GET', `${api.url}/list${query}`, { headers: reader() });

  test.each([
    ['', { limit: 50 }],
    ['?', { limit: 50 }],
    ['?limit=1', { limit: 1 }],
    ['?limit=200', { limit: 200 }],
    ['?limit=201', { limit: 200 }],
    ['?limit=999999999', { limit: 200 }],
    ['?limit=007', { limit: 7 }],
    ['?cursor=abc', { limit: 50, cursor: 'abc' }],
    ['?cursor=a%20b', { limit: 50, cursor: 'a b' }],
  ])('%s are read', async (query, expected) => {
    const { status, body } = await list(query);
    expect([status, body]).toEqual([200, expected]);
  });

  test.each<[string, object[]]>([
    ['?limit=0', [{ parameter: 'limit' }]],
    ['?limit=-1', [{ parameter: 'limit' }]],
    ['?limit=1.5', [{ parameter: 'limit' }]],
    ['?limit=1e2', [{ parameter: 'limit' }]],
    ['?limit=%2B5', [{ parameter: 'limit' }]],
    ['?limit=%205', [{ parameter: 'limit' }]],
    ['?limit=ten', [{ parameter: 'limit' }]],
    ['?limit=٣', [{ parameter: 'limit' }]],
    ['?limit=', [{ parameter: 'limit', code: 'empty_parameter' }]],
    ['?limit', [{ parameter: 'limit', code: 'empty_parameter' }]],
    ['?limit=5&limit=5', [{ parameter: 'limit', code: 'repeated_parameter' }]],
    ['?Limit=5', [{ parameter: 'Limit', code: 'unknown_parameter' }]],
    ['?limit[]=5', [{ parameter: 'limit[]', code: 'unknown_parameter' }]],
    ['?toString=1', [{ parameter: 'toString', code: 'unknown_parameter' }]],
    ['?__proto__=1', [{ parameter: '__proto__', code: 'unknown_parameter' }]],
    ['?=1', [{ parameter: '', code: 'unknown_parameter' }]],
    [
      '?limit=x&sort=name&cursor=a&cursor=b',
      [{ parameter: 'limit' }, { parameter: 'sort' }, { parameter: 'cursor', code: 'repeated_parameter' }],
    ],
  ])('%s are refused, each with its name', async (query, details) => {
    const answer = await list(query);
    expectError(answer, 400, 'validation_error');
    expect(answer.body.details).toHaveLength(details.length);
    expect(answer.body.details).toEqual(
      expect.arrayContaining(details.map((each) => expect.objectContaining(each))),
    );
  });

  test('an empty cursor is no cursor', async () => {
    const answer = await list('?cursor=');
    expectError(answer, 400, 'invalid_cursor');
    expect(answer.body.details).toEqual([expect.objectContaining({ parameter: 'cursor' })]);
  });

  test('never repeats a refused value', async () => {
    const { body } = await list('?limit=123-45-6789&cursor=a&cursor=b');
    expect(JSON.stringify(body)).not.toContain('123-45-6789');
  });
});
