import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import got from 'got';
import { waitUntil } from '@assistance/test-kit';
import { freePort, startSandbox, type StartedSandbox } from './start-sandbox.ts';
import { startUpstream, type Upstream } from './start-upstream.ts';

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

let answer: (request: IncomingMessage, response: ServerResponse) => void;
let sandbox: StartedSandbox;
let one: Upstream;
let two: Upstream;
let single: Upstream;

beforeAll(async () => {
  one = await startUpstream((request, response) => answer(request, response));
  two = await startUpstream((request, response) => answer(request, response));
  single = await startUpstream((request, response) => answer(request, response));
  sandbox = await startSandbox({
    DEPLOYMENT: 'agency',
    UPSTREAMS: JSON.stringify({
      '/applications/v1': [one.url, two.url],
      '/events/v1': [single.url],
      '/deliveries/v1': [`http://127.0.0.1:${await freePort()}`],
    }),
  });
});
afterAll(async () => {
  await sandbox.discard();
  await Promise.all([one, two, single].map((upstream) => upstream.goAway()));
});
beforeEach(() => {
  for (const upstream of [one, two, single]) upstream.requests.length = 0;
  answer = echo;
});

const http = got.extend({ throwHttpErrors: false, retry: { limit: 0 } });

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const { method, url, headers } = request;
  response.writeHead(201, {
    'content-type': 'application/json',
    location: '/applications/v1/x',
    'x-own': 'yes',
  });
  response.end(JSON.stringify({ method, url, headers, body }));
}

describe('a request', () => {
  test('reaches the service of its prefix whole, and its answer comes back whole', async () => {
    const { statusCode, headers, body } = await http.post(
      `${sandbox.url}/events/v1/subscriptions?a=%2F&b=1`,
      {
        headers: {
          authorization: 'Bearer secret',
          'idempotency-key': 'k1',
          'content-type': 'application/json',
        },
        body: '{"a":"José"}',
      },
    );
    expect(statusCode).toBe(201);
    expect(headers).toMatchObject({ location: '/applications/v1/x', 'x-own': 'yes' });
    expect(JSON.parse(body)).toMatchObject({
      method: 'POST',
      url: '/events/v1/subscriptions?a=%2F&b=1',
      headers: { authorization: 'Bearer secret', 'idempotency-key': 'k1' },
      body: '{"a":"José"}',
    });
  });

  test('bears the id of its caller, else one that the gateway gives it', async () => {
    const own = randomUUID();
    const sent = async (id?: string) => {
      await http(`${sandbox.url}/events/v1/event-types`, {
        headers: id === undefined ? {} : { 'x-request-id': id },
      });
      return single.requests.at(-1)?.headers['x-request-id'];
    };
    expect(await sent(own)).toBe(own);
    expect(await sent('not a uuid')).toMatch(uuid);
    expect(await sent()).toMatch(uuid);
  });

  test('goes to the instances in turn', async () => {
    for (let i = 0; i < 6; i++) await http(`${sandbox.url}/applications/v1/programs`);
    expect([one.requests.length, two.requests.length]).toEqual([3, 3]);
  });

  test('is not told who forwards for whom by its caller', async () => {
    const { body } = await http(`${sandbox.url}/events/v1/event-types`, {
      headers: { 'x-forwarded-for': '6.6.6.6', te: 'trailers', connection: 'x-private', 'x-private': '1' },
    });
    const { headers } = JSON.parse(body) as { headers: Record<string, string> };
    expect(headers['x-forwarded-for']).toMatch(/127\.0\.0\.1$/);
    expect(headers).not.toHaveProperty('te');
    expect(headers).not.toHaveProperty('x-private');
    expect(headers['connection']).toBe('keep-alive');
  });

  test('of a prefix that only begins alike, or of none, is 404', async () => {
    for (const path of [
      '/',
      '/applications',
      '/applications/v10',
      '/APPLICATIONS/v1/programs',
      '/inbox/any',
      '/%',
    ]) {
      const { statusCode, body, headers } = await http(sandbox.url + path);
      expect([path, statusCode]).toEqual([path, 404]);
      expect(JSON.parse(body)).toMatchObject({ code: 'not_found', requestId: headers['x-request-id'] });
      expect(headers['api-version']).toBe('1.0.0');
    }
  });

  test('in absolute form is taken by its path', async () => {
    const socket = connect(sandbox.port, '127.0.0.1');
    socket.write(
      'GET http://elsewhere.example/events/v1/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    );
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 201 /);
    expect(single.requests.at(-1)?.url).toBe('/events/v1/x');
  });
});

describe('streams', () => {
  test('an answer arrives while the service still writes it', async () => {
    const finish = Promise.withResolvers<void>();
    answer = (_request, response) => {
      response.writeHead(200);
      response.write('first');
      void finish.promise.then(() => response.end('last'));
    };
    const request = httpRequest(`${sandbox.url}/events/v1/openapi.json`).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const [first] = (await once(response, 'data')) as [Buffer];
    expect(first.toString()).toBe('first');
    finish.resolve();
    expect(await text(response)).toBe('last');
  });

  test('a chunked body arrives while the caller still writes it', async () => {
    const began = Promise.withResolvers<void>();
    answer = (request, response) => {
      request.once('data', () => began.resolve());
      void echo(request, response);
    };
    const request = httpRequest(`${sandbox.url}/events/v1/subscriptions`, { method: 'POST' });
    request.write('one,');
    await began.promise;
    request.end('two');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(JSON.parse(await text(response))).toMatchObject({ body: 'one,two' });
  });
});

describe('while a service is away', () => {
  test('its addresses answer 503 with the error body and Retry-After', async () => {
    const id = randomUUID();
    const { statusCode, headers, body } = await http.post(`${sandbox.url}/deliveries/v1/deliveries/x/retry`, {
      headers: { 'x-request-id': id },
      json: { some: 'body' },
    });
    expect(statusCode).toBe(503);
    expect(headers).toMatchObject({ 'x-request-id': id, 'api-version': '1.0.0' });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(JSON.parse(body)).toEqual({ code: 'unavailable', message: expect.any(String), requestId: id });
  });

  test('the others go on, and it is back as soon as it listens', async () => {
    await single.goAway();
    expect((await http(`${sandbox.url}/events/v1/event-types`)).statusCode).toBe(503);
    expect((await http(`${sandbox.url}/applications/v1/programs`)).statusCode).toBe(201);
    await single.comeBack();
    expect((await http(`${sandbox.url}/events/v1/event-types`)).statusCode).toBe(201);
  });

  test('with a second instance no request is refused, and each is carried out once', async () => {
    await http(`${sandbox.url}/applications/v1/warm`);
    await http(`${sandbox.url}/applications/v1/warm`);
    one.requests.length = two.requests.length = 0;
    await one.goAway();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        http.post<{ body: string }>(`${sandbox.url}/applications/v1/applications`, {
          json: { n },
          responseType: 'json',
        }),
      ),
    );
    await one.comeBack();
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(20).fill(201));
    expect(answers.map(({ body }) => body.body)).toEqual(answers.map((_, n) => `{"n":${n}}`));
    expect(two.requests).toHaveLength(20);
    for (let i = 0; i < 4; i++) await http(`${sandbox.url}/applications/v1/programs`);
    expect(one.requests).toHaveLength(2);
  });

  test('a request that breaks off on its way is 503 and not sent again', async () => {
    answer = (request) => request.socket.destroy();
    const { statusCode } = await http.post(`${sandbox.url}/applications/v1/applications`, { json: {} });
    expect(statusCode).toBe(503);
    expect(one.requests.length + two.requests.length).toBe(1);
  });

  test('an answer that breaks off is broken off, not ended', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half', () => response.destroy());
    };
    const request = httpRequest(`${sandbox.url}/events/v1/event-types`).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    await expect(text(response)).rejects.toThrow();
  });

  test('a caller that goes away takes its request to the service with it', async () => {
    const gone = Promise.withResolvers<void>();
    answer = (request) => request.socket.once('close', () => gone.resolve());
    const request = httpRequest(`${sandbox.url}/events/v1/event-types`).end();
    request.on('error', () => undefined);
    await waitUntil(() => single.requests.length === 1);
    request.destroy();
    await gone.promise;
  });
});

describe('what HTTP itself refuses', () => {
  test.each([
    [
      'two lengths',
      'POST /events/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'bad_request',
    ],
    ['no HTTP', 'HELO there\r\n\r\n', 400, 'bad_request'],
    ['no Host', 'GET /events/v1/x HTTP/1.1\r\n\r\n', 400, 'bad_request'],
    [
      'headers too large',
      `GET /events/v1/x HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'a declared body too large',
      'POST /events/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n',
      413,
      'payload_too_large',
    ],
  ])('%s: the error body, and no request to the service', async (_what, bytes, status, code) => {
    const socket = connect(sandbox.port, '127.0.0.1');
    socket.write(bytes);
    const received = await text(socket);
    expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const body = JSON.parse(/\{.*\}/s.exec(received)?.[0] ?? '') as unknown;
    expect(body).toEqual({ code, message: expect.any(String), requestId: expect.stringMatching(uuid) });
    expect(single.requests).toHaveLength(0);
  });
});
