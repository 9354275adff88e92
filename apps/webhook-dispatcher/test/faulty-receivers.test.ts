import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { waitUntil } from '@assistance/test-kit';
import type { FailureReason } from '@assistance/types';
import { createCertificates, type Certificate } from './create-certificates.ts';
import { createLogReader } from './read-log.ts';
import { runDispatcher } from './start-dispatcher.ts';

// Each receiver does one thing wrong. All get the same event at the same time; what came of it stands in the log.

const TIMEOUT_MS = 5_000;
const folder = await mkdtemp(join(tmpdir(), 'faulty-receivers-'));
afterAll(() => rm(folder, { recursive: true }));
const [trusted, foreign] = await Promise.all([createCertificates(), createCertificates()]);
await writeFile(join(folder, 'authority.pem'), trusted.authority);

const { surroundings, dispatcher } = await runDispatcher({
  DELIVERY_TIMEOUT_MS: String(TIMEOUT_MS),
  RETRY_MAX_ATTEMPTS: '1',
  RATE_LIMIT_PER_SECOND: '5000',
  NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
  NODE_OPTIONS: `--import=${join(import.meta.dirname, 'collect-garbage.mjs')}`,
  // Careless, but not obeyed.
  NODE_TLS_REJECT_UNAUTHORIZED: '0',
});
const log = createLogReader(surroundings, dispatcher);

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
});

/** A server that does as told once the first of a request has come. */
async function serve(answer: (socket: Socket) => void, certificate?: Certificate): Promise<number> {
  const take = (socket: Socket): void => {
    sockets.add(socket.on('error', () => undefined));
    socket.once('data', () => answer(socket));
  };
  const server = certificate === undefined ? createServer(take) : createTlsServer(certificate, take);
  server.on('tlsClientError', () => undefined);
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Writes as fast as it is read, until nobody reads any more. */
function writeForEver(socket: Socket, chunk: string | Buffer): void {
  const write = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', write);
  write();
}

function drip(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), 50);
  socket.on('close', () => clearInterval(timer));
}

const ok = (...headers: string[]): string => ['HTTP/1.1 200 OK', ...headers, '', ''].join('\r\n');
const inAWeek = new Date(Date.now() + 7 * 86_400_000);
const yesterday = new Date(Date.now() - 86_400_000);
let gigabyte: Socket | undefined;
let redirectedTo = 0;

interface Case {
  does: string;
  answer?: (socket: Socket) => void;
  certificate?: Certificate;
  /** Default: where `answer` serves. */
  url?: (port: number) => string;
  reason: FailureReason | null;
  status: number | null;
}

const secretPlace = await serve(() => (redirectedTo += 1));
const cases: Case[] = [
  { does: 'hangs', answer: () => undefined, reason: 'timeout', status: null },
  {
    does: 'hangs before TLS',
    answer: () => undefined,
    url: (port) => `https://localhost:${port}`,
    reason: 'timeout',
    status: null,
  },
  {
    does: 'drips headers',
    answer: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      drip(socket, 'a: b\r\n');
    },
    reason: 'timeout',
    status: null,
  },
  {
    does: 'drips a body',
    answer: (socket) => {
      socket.write(ok('content-length: 60000'));
      drip(socket, '.');
    },
    reason: 'timeout',
    status: 200,
  },
  {
    does: 'drips 102 for ever',
    answer: (socket) => drip(socket, 'HTTP/1.1 102 Processing\r\n\r\n'),
    reason: 'timeout',
    status: null,
  },
  {
    does: 'pours 103 for ever',
    answer: (socket) => writeForEver(socket, 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(100)),
    reason: 'malformed_response',
    status: null,
  },
  {
    does: 'says 100 unasked',
    answer: (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${ok('content-length: 0')}`),
    reason: 'malformed_response',
    status: null,
  },
  {
    does: 'changes the protocol',
    answer: (socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    reason: 'malformed_response',
    status: null,
  },
  { does: 'closes at once', answer: (socket) => socket.end(), reason: 'connection_closed', status: null },
  {
    does: 'resets',
    answer: (socket) => socket.resetAndDestroy(),
    reason: 'connection_closed',
    status: null,
  },
  {
    does: 'closes half-way through the headers',
    answer: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le'),
    reason: 'connection_closed',
    status: null,
  },
  {
    does: 'closes half-way through a body',
    answer: (socket) => socket.end(`${ok('content-length: 100')}half`),
    reason: 'connection_closed',
    status: 200,
  },
  {
    does: 'closes before the last chunk',
    answer: (socket) => socket.end(`${ok('transfer-encoding: chunked')}4\r\nhalf\r\n`),
    reason: 'connection_closed',
    status: 200,
  },
  {
    does: 'is not there',
    url: () => 'http://127.0.0.1:1',
    reason: 'connection_refused',
    status: null,
  },
  {
    does: 'answers garbage',
    answer: (socket) => socket.end('\0\x01 these are not the words\r\n\r\n'),
    reason: 'malformed_response',
    status: null,
  },
  {
    does: 'says a length that is none',
    answer: (socket) => socket.end(ok('content-length: many')),
    reason: 'malformed_response',
    status: null,
  },
  {
    does: 'says two lengths',
    answer: (socket) => socket.end(`${ok('content-length: 1', 'transfer-encoding: chunked')}0\r\n\r\n`),
    reason: 'malformed_response',
    status: null,
  },
  {
    does: 'sends chunks that are none',
    answer: (socket) => socket.end(`${ok('transfer-encoding: chunked')}zz\r\n`),
    reason: 'malformed_response',
    status: 200,
  },
  {
    does: 'sends a gigabyte',
    answer: (socket) => {
      gigabyte = socket;
      socket.write(ok('content-length: 1073741824'));
      writeForEver(socket, Buffer.alloc(65_536, '.'));
    },
    reason: null,
    status: 200,
  },
  {
    does: 'fails with a gigabyte',
    answer: (socket) => {
      socket.write('HTTP/1.1 500 No\r\ncontent-length: 1073741824\r\n\r\n');
      writeForEver(socket, Buffer.alloc(65_536, '.'));
    },
    reason: 'http_status',
    status: 500,
  },
  {
    does: 'sends a gzip bomb',
    answer: (socket) => {
      const bomb = gzipSync(Buffer.alloc(32_000_000));
      socket.write(ok('content-encoding: gzip', `content-length: ${bomb.length}`));
      socket.write(bomb);
    },
    reason: null,
    status: 200,
  },
  {
    does: 'sends a thousand headers',
    answer: (socket) =>
      socket.end(ok(...Array.from({ length: 1_000 }, (_, i) => `x-${i}: a value as values are`))),
    reason: 'response_too_large',
    status: null,
  },
  {
    does: 'sends a header for ever',
    answer: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nx: ');
      writeForEver(socket, 'a'.repeat(65_536));
    },
    reason: 'response_too_large',
    status: null,
  },
  {
    does: 'sends trailers for ever',
    answer: (socket) => {
      socket.write(`${ok('transfer-encoding: chunked')}0\r\n`);
      writeForEver(socket, 'x: trailer\r\n'.repeat(1_000));
    },
    reason: 'response_too_large',
    status: 200,
  },
  {
    does: 'gives a reason for ever',
    answer: (socket) => {
      socket.write('HTTP/1.1 200 ');
      writeForEver(socket, 'a'.repeat(65_536));
    },
    reason: 'timeout',
    status: null,
  },
  {
    does: 'redirects to a private address',
    answer: (socket) =>
      socket.end(
        `HTTP/1.1 307 There\r\nlocation: http://127.0.0.1:${secretPlace}/\r\ncontent-length: 0\r\n\r\n`,
      ),
    reason: 'redirect',
    status: 307,
  },
  {
    does: 'has a private address',
    url: () => `http://10.0.0.1:${secretPlace}`,
    reason: 'blocked_address',
    status: null,
  },
  {
    does: 'has a private address in another spelling',
    url: () => `http://[::ffff:127.0.0.1]:${secretPlace}`,
    reason: 'blocked_address',
    status: null,
  },
  {
    does: 'has a certificate that is good',
    answer: (socket) => socket.end(ok('content-length: 0')),
    certificate: await trusted.issue('localhost', { until: inAWeek }),
    reason: null,
    status: 200,
  },
  {
    does: 'has an expired certificate',
    answer: (socket) => socket.end(ok('content-length: 0')),
    certificate: await trusted.issue('localhost', { until: yesterday }),
    reason: 'tls_failed',
    status: null,
  },
  {
    does: 'has a certificate of an unknown authority',
    answer: (socket) => socket.end(ok('content-length: 0')),
    certificate: await foreign.issue('localhost', { until: inAWeek }),
    reason: 'tls_failed',
    status: null,
  },
  {
    does: 'has a certificate for another name',
    answer: (socket) => socket.end(ok('content-length: 0')),
    certificate: await trusted.issue('other.example', { until: inAWeek }),
    reason: 'tls_failed',
    status: null,
  },
  {
    does: 'speaks no TLS',
    answer: (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
    url: (port) => `https://localhost:${port}`,
    reason: 'tls_failed',
    status: null,
  },
];

const subscriptionIds = new Map<string, string>();
let heldBefore = 0;

beforeAll(async () => {
  for (const { does, answer, certificate, url } of cases) {
    const port = answer === undefined ? 0 : await serve(answer, certificate);
    const callbackUrl =
      url?.(port) ?? (certificate === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`);
    const { record } = await surroundings.subscribe({ callbackUrl });
    subscriptionIds.set(does, record.subscriptionId);
  }
  for (const subscriptionId of subscriptionIds.values()) await log.waitForVersion(subscriptionId, 1);
  heldBefore = await held();
  await surroundings.publishEvents(1);
}, 30_000);

test.each(cases)('a receiver that $does: $reason', async ({ does, reason, status }) => {
  const attempts = await log.attemptsOf(subscriptionIds.get(does)!);
  expect(attempts).toHaveLength(1);
  expect(attempts[0]).toMatchObject({
    outcome: reason === null ? 'succeeded' : 'failed',
    reason,
    responseStatus: status,
  });
  const { durationMs } = attempts[0]!;
  if (reason === 'timeout') expect(durationMs).toBeGreaterThanOrEqual(TIMEOUT_MS);
  // Some of slack for a busy machine; the deadline itself is checked ten times as often.
  expect(durationMs).toBeLessThan(2 * TIMEOUT_MS);
});

test('none of them makes it hold more in memory, or read more than is looked at', async () => {
  expect(gigabyte?.bytesWritten).toBeLessThan(16_000_000);
  await waitUntil(async () => (await held()) - heldBefore < 8_000_000, { timeoutMs: 20_000 });
});

test('nobody came to where it was not to go', () => {
  expect(redirectedTo).toBe(0);
});

/** Bytes, in the heap and beside it, that are still in use. */
async function held(): Promise<number> {
  const { pid, liveness, metric } = dispatcher.process;
  process.kill(pid, 'SIGUSR2');
  await liveness(); // what it answers after the signal, it answers after the collection
  const sizes = ['nodejs_heap_size_used_bytes', 'nodejs_external_memory_bytes'].map((name) => metric(name));
  const [heap, beside] = await Promise.all(sizes);
  return heap! + beside!;
}
