import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { connect } from 'node:net';
import { z } from 'zod';
import { errorBody } from '@assistance/types';
import { createHttpServer, route } from '../src/index.ts';
import { rawRequest, readAnswer, type RawAnswer } from './support/raw-request.ts';
import { startApi, type Api } from './support/start-api.ts';

let handled = 0;
let api: Api;
let authorization: string;
beforeAll(async () => {
  api = await startApi(
    [
      route({
        method: 'post',
        path: '/things',
        scope: 'any',
        body: z.strictObject({}),
        handle: () => {
          handled += 1;
          return { status: 201, body: {} };
        },
      }),
      route({ method: 'get', path: '/things', scope: 'any', handle: () => ({ status: 200, body: [] }) }),
      route({ method: 'get', path: '/things/:id', scope: 'any', handle: () => ({ status: 200, body: {} }) }),
    ],
    { headersTimeout: 400, requestTimeout: 800, connectionsCheckingInterval: 50 },
  );
  authorization = `Authorization: ${api.as('raw').authorization}`;
});
afterAll(() => api.stop());

const send = (...parts: (string | Buffer)[]) => rawRequest(api.port, ...parts);
const head = (startLine: string, ...headers: string[]) =>
  [startLine, 'Host: x', ...headers, '', ''].join('\r\n');
const json = 'Content-Type: application/json';

function expectError(answer: RawAnswer, status: number, code: string): void {
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer.headers['api-version']).toBe('1.0.0');
  const body = errorBody.strict().parse(answer.json());
  expect(body.code).toBe(code);
  expect(body.requestId).toBe(answer.headers['x-request-id']);
}

test('what is right is answered: the server of these tests works', async () => {
  const answer = await send(
    head('POST /things/v1/things HTTP/1.1', authorization, json, 'Content-Length: 2'),
    '{}',
  );
  expect(answer.status).toBe(201);
});

describe('what is not HTTP is 400 bad_request:', () => {
  test.each<[string, string]>([
    ['no protocol', 'GET /\r\n\r\n'],
    ['another protocol', 'hello there\r\n\r\n'],
    ['an unknown method', head('FETCH /things/v1/things HTTP/1.1')],
    ['an unknown version', head('GET /things/v1/things HTTP/7.3')],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n'],
    ['a space in a header name', 'GET / HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n'],
    ['no host', 'GET /things/v1/things HTTP/1.1\r\n\r\n'],
    ['two hosts', head('GET /things/v1/things HTTP/1.1', 'Host: y')],
    ['two lengths', head('POST /things/v1/things HTTP/1.1', 'Content-Length: 2', 'Content-Length: 3')],
    [
      'a length and chunks',
      head('POST /things/v1/things HTTP/1.1', 'Content-Length: 2', 'Transfer-Encoding: chunked'),
    ],
    ['a negative length', head('POST /things/v1/things HTTP/1.1', 'Content-Length: -1')],
    ['a length that is no number', head('POST /things/v1/things HTTP/1.1', 'Content-Length: two')],
    ['chunks in HTTP/1.0', head('POST /things/v1/things HTTP/1.0', 'Transfer-Encoding: chunked')],
    ['a tunnel', head('CONNECT example.com:443 HTTP/1.1')],
    ['a percent sign without digits', head('GET /things/v1/things/%zz HTTP/1.1')],
  ])('%s', async (_what, request) => {
    expectError(await send(request), 400, 'bad_request');
  });
});

test('an address longer than 8 KiB is 414, also one longer than all headers may be', async () => {
  for (const length of [8 * 1024, 20_000, 40_000]) {
    const answer = await send(head(`GET /things/v1/things?${'a'.repeat(length)} HTTP/1.1`, authorization));
    expectError(answer, 414, 'uri_too_long');
  }
});

test('headers larger than 32 KiB are 431, many or one, in one packet or in several', async () => {
  const many = Array.from({ length: 600 }, (_, i) => `X-Header-${i}: ${'a'.repeat(64)}`);
  expectError(await send(head('GET /things/v1/things HTTP/1.1', ...many)), 431, 'headers_too_large');
  const one = head('GET /things/v1/things HTTP/1.1', `X-Header: ${'a'.repeat(40_000)}`);
  expectError(await send(one), 431, 'headers_too_large');

  const socket = connect(api.port, '127.0.0.1');
  await once(socket, 'connect');
  const answer = readAnswer(socket);
  // Each part is flushed before the next, so that the server meets the limit in the middle of a value.
  for (const part of [
    'GET /things/v1/things HTTP/1.1\r\nHost: x\r\nX-Header: ',
    ...Array<string>(10).fill('a'.repeat(4_000)),
  ]) {
    await new Promise((resolve) => socket.write(part, resolve));
    await new Promise(setImmediate);
  }
  expectError(await answer, 431, 'headers_too_large');
  socket.destroy();
});

test('small headers are taken as long as all of them are seen; more are 431, and none is dropped', async () => {
  const few = Array.from({ length: 800 }, () => 'A:');
  const last = head('GET /things/v1/things HTTP/1.1', ...few, authorization);
  expect((await send(last)).status).toBe(200);
  const flood = head('GET /things/v1/things HTTP/1.1', ...few, ...few, ...few, authorization);
  expectError(await send(flood), 431, 'headers_too_large');
});

describe('a body larger than 256 KiB is 413', () => {
  const tooLarge = 256 * 1024 + 1;

  test('by its declared length, before the token is looked at and before a byte of it is sent', async () => {
    const answer = await send(head('POST /things/v1/things HTTP/1.1', json, `Content-Length: ${tooLarge}`));
    expectError(answer, 413, 'payload_too_large');
    expect(answer.headers['connection']).toBe('close');
  });

  test('by its declared length, instead of being told to go on', async () => {
    const socket = connect(api.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      head('POST /things/v1/things HTTP/1.1', json, `Content-Length: ${tooLarge}`, 'Expect: 100-continue'),
    );
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  test('as it is read, when it comes in chunks; the handler never sees it', async () => {
    const before = handled;
    const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    const answer = await send(
      head('POST /things/v1/things HTTP/1.1', authorization, json, 'Transfer-Encoding: chunked'),
      ...Array<string>(17).fill(chunk),
      '0\r\n\r\n',
    );
    expectError(answer, 413, 'payload_too_large');
    expect(handled).toBe(before);
  });

  test('a body of exactly 256 KiB is read', async () => {
    const body = '{}'.padEnd(256 * 1024);
    const answer = await send(
      head('POST /things/v1/things HTTP/1.1', authorization, json, `Content-Length: ${body.length}`),
      body,
    );
    expect(answer.status).toBe(201);
  });
});

test('100-continue is met, any other expectation is 417', async () => {
  const asked = head(
    'POST /things/v1/things HTTP/1.1',
    authorization,
    json,
    'Content-Length: 2',
    'Expect: 100-continue',
  );
  expect((await send(asked, '{}')).status).toBe(201);
  const other = head('POST /things/v1/things HTTP/1.1', authorization, 'Expect: the-spanish-inquisition');
  expectError(await send(other), 417, 'expectation_failed');
});

describe('what does not arrive in time is 408:', () => {
  test('headers', async () => {
    expectError(await send('GET /things/v1/things HTTP/1.1\r\nHost: x\r\n'), 408, 'request_timeout');
  });
  test('the body', async () => {
    const before = handled;
    const begun = head('POST /things/v1/things HTTP/1.1', authorization, json, 'Content-Length: 2');
    expectError(await send(begun, '{'), 408, 'request_timeout');
    expect(handled).toBe(before);
  });
});

test('a service takes 10 s for headers, 30 s for a request, and keeps a connection for 75 s', async () => {
  const { headersTimeout, requestTimeout, keepAliveTimeout } = createHttpServer(() => undefined);
  expect({ headersTimeout, requestTimeout, keepAliveTimeout }).toEqual({
    headersTimeout: 10_000,
    requestTimeout: 30_000,
    keepAliveTimeout: 75_000,
  });
});

test('a body that is said to be two things is 415', async () => {
  const twice = head(
    'POST /things/v1/things HTTP/1.1',
    authorization,
    json,
    'Content-Type: text/plain',
    'Content-Length: 2',
  );
  expectError(await send(twice, '{}'), 415, 'unsupported_media_type');
});

test('a body that breaks off reaches no handler', async () => {
  const before = handled;
  const socket = connect(api.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(head('POST /things/v1/things HTTP/1.1', authorization, json, 'Content-Length: 20') + '{}');
  await new Promise<void>((resolve) => socket.end(resolve));
  socket.resume();
  await once(socket, 'close');
  expect(handled).toBe(before);
});

test('nonsense behind a good request ends the connection after its answer', async () => {
  const good = head('GET /things/v1/things HTTP/1.1', authorization);
  const socket = connect(api.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(good);
  expect((await readAnswer(socket)).status).toBe(200);
  socket.removeAllListeners();
  socket.write('nonsense\r\n\r\n');
  expectError(await readAnswer(socket), 400, 'bad_request');
});

test("an answer says nothing of the server's software", async () => {
  for (const request of [
    head('GET /things/v1/things HTTP/1.1', authorization),
    head('GET / HTTP/1.1'),
    'x\r\n\r\n',
  ]) {
    const { headers } = await send(request);
    expect(headers).not.toHaveProperty('x-powered-by');
    expect(headers).not.toHaveProperty('server');
  }
});
