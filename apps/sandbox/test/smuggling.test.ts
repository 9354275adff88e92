import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import got from 'got';
import { startSandbox, type StartedSandbox } from './start-sandbox.ts';
import { startUpstream, type Upstream } from './start-upstream.ts';

// What a service behind the gateway receives must be what the gateway took: never a second request out of one's body.

let sandbox: StartedSandbox;
let service: Upstream;
/** Every request that came to the service, whole. */
const received: string[] = [];

beforeAll(async () => {
  service = await startUpstream(keep);
  sandbox = await startSandbox({
    DEPLOYMENT: 'agency',
    UPSTREAMS: JSON.stringify({ '/events/v1': [service.url] }),
  });
});
afterAll(async () => {
  await sandbox.discard();
  await service.goAway();
});
beforeEach(() => void (received.length = 0));

async function keep(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request).catch(() => undefined);
  if (body === undefined && request.url === '/events/v1/x') return; // what was refused where it was read
  received.push(`${request.method} ${request.url} ${body}`.trimEnd());
  response.writeHead(200, { 'content-type': 'text/plain' }).end(request.url);
}

const HIDDEN = 'GET /events/v1/hidden HTTP/1.1\r\nHost: a\r\n\r\n';
const CHUNKED = `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`;
const chunk = (size: string, data: string): string => `${size}\r\n${data}\r\n0\r\n\r\n`;
const request = (startLine: string, headers: string[], body = ''): string =>
  `${[startLine, 'Host: a', ...headers].join('\r\n')}\r\n\r\n${body}`;
const post = (headers: string[], body = ''): string => request('POST /events/v1/x HTTP/1.1', headers, body);

/** Sends bytes as they are; answers the statuses until there are so many, and `closed` when the connection was before. */
async function send(bytes: string, answers: number): Promise<string[]> {
  const socket = connect(sandbox.port, '127.0.0.1');
  let heard = '';
  const statuses = (): string[] => [...heard.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => status!);
  const enough = new Promise<void>((resolve) =>
    socket.on('data', (data) => {
      heard += data.toString('latin1');
      if (statuses().length >= answers) resolve();
    }),
  );
  const closed = once(socket, 'close').then(() => 'closed');
  socket.on('error', () => undefined);
  socket.write(bytes, 'latin1');
  const ended = await Promise.race([closed, enough]);
  socket.destroy();
  return ended === undefined ? statuses() : [...statuses(), ended];
}

/** All that has come to the service whole: a request that lay hidden would come before, or garble, the marker. */
async function receivedByService(): Promise<string[]> {
  const marker = await got(`${sandbox.url}/events/v1/marker`, { retry: { limit: 0 } });
  expect(marker.body).toBe('/events/v1/marker');
  return received.filter((each) => each !== 'GET /events/v1/marker');
}

describe('is refused, the connection closed, and nothing of it reaches the service:', () => {
  test.each<[string, string]>([
    ['a length and chunks', post(['Content-Length: 4', 'Transfer-Encoding: chunked'], CHUNKED)],
    ['chunks and a length', post(['Transfer-Encoding: chunked', 'Content-Length: 4'], CHUNKED)],
    ['two lengths', post(['Content-Length: 0', `Content-Length: ${HIDDEN.length}`], HIDDEN)],
    ['two equal lengths', post(['Content-Length: 4', 'Content-Length: 4'], 'abcd')],
    ['a list of lengths', post(['Content-Length: 4, 4'], 'abcd')],
    ['a length with a sign', post(['Content-Length: +4'], 'abcd')],
    ['a length in hexadecimal', post(['Content-Length: 0x4'], 'abcd')],
    ['a length with a space in it', post(['Content-Length: 1 2'], HIDDEN)],
    ['a length with an underscore', post(['Content-Length: 1_0'], HIDDEN)],
    ['a length beyond all numbers', post(['Content-Length: 18446744073709551620'], 'abcd')],
    ['a length with nothing', post(['Content-Length:'], HIDDEN)],
    ['a coding that is nearly chunked', post(['Transfer-Encoding: xchunked'], CHUNKED)],
    ['a coding that ends in another', post(['Transfer-Encoding: chunked, identity'], CHUNKED)],
    [
      'two codings in two fields',
      post(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], CHUNKED),
    ],
    ['chunked twice', post(['Transfer-Encoding: chunked, chunked'], CHUNKED)],
    ['a coding with a vertical tab', post(['Transfer-Encoding: \x0bchunked'], CHUNKED)],
    ['a coding with NUL', post(['Transfer-Encoding: chunked\0'], CHUNKED)],
    ['a coding in quotes', post(['Transfer-Encoding: "chunked"'], CHUNKED)],
    ['a space before the colon of a coding', post(['Transfer-Encoding : chunked'], CHUNKED)],
    ['a space before the colon of a length', post(['Content-Length : 4'], 'abcd')],
    ['a folded coding', post(['Transfer-Encoding:\r\n chunked'], CHUNKED)],
    ['a field that begins with a space', post([' Transfer-Encoding: chunked'], CHUNKED)],
    ['a bare line feed before a coding', post(['X: y\nTransfer-Encoding: chunked'], CHUNKED)],
    ['a bare carriage return before a coding', post(['X: y\rTransfer-Encoding: chunked'], CHUNKED)],
    ['bare line feeds throughout', 'GET /events/v1/x HTTP/1.1\nHost: a\n\n'],
    ['chunks in HTTP/1.0', request('POST /events/v1/x HTTP/1.0', ['Transfer-Encoding: chunked'], CHUNKED)],
    ['a request line without a protocol', `GET /events/v1/x\r\n\r\n${HIDDEN}`],
    ['a request line of two protocols', request('GET /events/v1/x HTTP/1.1 HTTP/1.1', [])],
    ['a request line with tabs', request('GET\t/events/v1/x\tHTTP/1.1', [])],
    ['two hosts', request('GET /events/v1/x HTTP/1.1', ['Host: b'])],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a framing field called hop-by-hop', post(['Connection: content-length', 'Content-Length: 4'], 'abcd')],
    [
      'a length called hop-by-hop, on a DELETE',
      request(
        'DELETE /events/v1/x HTTP/1.1',
        ['Connection: content-length', `Content-Length: ${HIDDEN.length}`],
        HIDDEN,
      ),
    ],
    [
      'a coding called hop-by-hop, on a DELETE',
      request(
        'DELETE /events/v1/x HTTP/1.1',
        ['Connection: keep-alive, Transfer-Encoding', 'Transfer-Encoding: chunked'],
        CHUNKED,
      ),
    ],
    [
      'a coding called hop-by-hop, on a GET',
      request(
        'GET /events/v1/x HTTP/1.1',
        ['Connection: transfer-encoding', 'Transfer-Encoding: chunked'],
        CHUNKED,
      ),
    ],
    ['the host called hop-by-hop', request('GET /events/v1/x HTTP/1.1', ['Connection: host'])],
  ])('%s', async (_what, bytes) => {
    const connection = send(bytes, 2);
    expect(await receivedByService()).toEqual([]);
    expect(await connection).toEqual(['400', 'closed']);
  });
});

describe('is refused where it is read, and never reaches the service whole:', () => {
  const chunked = ['Transfer-Encoding: chunked'];
  test.each<[string, string]>([
    ['a size with 0x', post(chunked, chunk('0x4', 'abcd'))],
    ['a size with a sign', post(chunked, chunk('-4', 'abcd'))],
    ['a size beyond all numbers', post(chunked, chunk('FFFFFFFFFFFFFFFFF', 'abcd'))],
    ['a size that ends in a line feed', post(chunked, `4\nabcd\r\n0\r\n\r\n`)],
    ['a size with a line feed in its extension', post(chunked, `4;a\nb\r\nabcd\r\n0\r\n\r\n`)],
    ['a chunk longer than its size', post(chunked, `4\r\nabcdef\r\n0\r\n\r\n${HIDDEN}`)],
    ['a length after the chunks', post(chunked, '4\r\nabcd\r\n0\r\nContent-Length: 9\r\n\r\n')],
    ['a chunk that ends in no line', post(chunked, `4\r\nabcd0\r\n\r\n${HIDDEN}`)],
  ])('%s', async (_what, bytes) => {
    const answers = await send(bytes, 2);
    expect(await receivedByService()).toEqual([]);
    expect(['400', '503', 'closed']).toEqual(expect.arrayContaining(answers));
  });
});

describe('is one request, and arrives as one:', () => {
  test.each<[string, string, string]>([
    [
      'a request in a body',
      post([`Content-Length: ${HIDDEN.length}`], HIDDEN),
      `POST /events/v1/x ${HIDDEN}`,
    ],
    ['a request in a chunk', post(['Transfer-Encoding: chunked'], CHUNKED), `POST /events/v1/x ${HIDDEN}`],
    ['a coding in capitals', post(['TRANSFER-ENCODING: CHUNKED'], CHUNKED), `POST /events/v1/x ${HIDDEN}`],
    [
      'a request in the chunk of a DELETE',
      request('DELETE /events/v1/x HTTP/1.1', ['Transfer-Encoding: chunked'], CHUNKED),
      `DELETE /events/v1/x ${HIDDEN}`,
    ],
    [
      'a request in the body of a DELETE',
      request('DELETE /events/v1/x HTTP/1.1', [`Content-Length: ${HIDDEN.length}`], HIDDEN),
      `DELETE /events/v1/x ${HIDDEN}`,
    ],
    [
      'a request in the chunk of an OPTIONS',
      request('OPTIONS /events/v1/x HTTP/1.1', ['Transfer-Encoding: chunked'], CHUNKED),
      `OPTIONS /events/v1/x ${HIDDEN}`,
    ],
    [
      'a request in the chunk of a GET',
      request('GET /events/v1/x HTTP/1.1', ['Transfer-Encoding: chunked'], CHUNKED),
      `GET /events/v1/x ${HIDDEN}`,
    ],
    [
      'a request in the body of a HEAD',
      request('HEAD /events/v1/x HTTP/1.1', [`Content-Length: ${HIDDEN.length}`], HIDDEN),
      `HEAD /events/v1/x ${HIDDEN}`,
    ],
    [
      'a body announced with Expect',
      post(['Expect: 100-continue', 'Transfer-Encoding: chunked'], CHUNKED),
      `POST /events/v1/x ${HIDDEN}`,
    ],
    [
      'a body of HTTP/1.0',
      request('POST /events/v1/x HTTP/1.0', [`Content-Length: ${HIDDEN.length}`], HIDDEN),
      `POST /events/v1/x ${HIDDEN}`,
    ],
    [
      'fields after the chunks',
      post(['Transfer-Encoding: chunked'], '4\r\nabcd\r\n0\r\nX-Late: 9\r\nAuthorization: x\r\n\r\n'),
      'POST /events/v1/x abcd',
    ],
    [
      'an encoded line in an address',
      request('GET /events/v1/x%0d%0a%0d%0aGET%20/events/v1/hidden HTTP/1.1', []),
      'GET /events/v1/x%0d%0a%0d%0aGET%20/events/v1/hidden',
    ],
    [
      'a wish for another protocol',
      request('GET /events/v1/x HTTP/1.1', [
        'Connection: Upgrade, HTTP2-Settings',
        'Upgrade: h2c',
        'HTTP2-Settings: A',
      ]),
      'GET /events/v1/x',
    ],
  ])('%s', async (_what, bytes, arrived) => {
    const answers = await send(bytes, bytes.includes('Expect') ? 2 : 1);
    expect(answers.at(-1)).toBe('200');
    expect(await receivedByService()).toEqual([arrived.trimEnd()]);
  });
});

test('requests one after the other on a connection arrive as what they are, each once and in order', async () => {
  const get = (n: number): string => request(`GET /events/v1/${n} HTTP/1.1`, []);
  const all = get(1) + post([`Content-Length: ${HIDDEN.length}`], HIDDEN) + get(3);
  expect(await send(all, 3)).toEqual(['200', '200', '200']);
  expect((await receivedByService()).sort()).toEqual([
    'GET /events/v1/1',
    'GET /events/v1/3',
    `POST /events/v1/x ${HIDDEN}`.trimEnd(),
  ]);
});
