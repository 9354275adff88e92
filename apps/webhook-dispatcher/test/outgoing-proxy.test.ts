import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, expect, test } from '@jest/globals';
import { createProxy } from 'proxy';
import type { FailureReason } from '@assistance/types';
import { createCertificates } from './create-certificates.ts';
import { createNameServer } from './create-name-server.ts';
import { createLogReader } from './read-log.ts';
import { runDispatcher } from './start-dispatcher.ts';

// The internet is played: names lead to public addresses, and the proxy, whatever tunnel it is asked for, connects to this
// machine. Without the proxy none of the addresses could be reached.

const TIMEOUT_MS = 3_000;
const folder = await mkdtemp(join(tmpdir(), 'outgoing-proxy-'));
afterAll(() => rm(folder, { recursive: true }));
const certificates = await createCertificates();
await writeFile(join(folder, 'authority.pem'), certificates.authority);

const hosts = {
  'good.example': ['93.184.215.1'],
  'plain.example': ['93.184.215.2'],
  'foreign.example': ['93.184.215.3'],
  'dripping.example': ['93.184.215.4'],
  'hanging.example': ['93.184.215.5'],
  'nobody.example': ['93.184.215.6'],
  'forbidden.example': ['93.184.215.7'],
  'second.example': ['93.184.215.6', '93.184.215.8'],
  'private.example': ['93.184.215.9', '10.0.0.1'],
  'own.example': ['127.0.0.1'],
};
type Host = keyof typeof hosts;

const names = await createNameServer({
  ...Object.fromEntries(Object.entries(hosts).map(([name, addresses]) => [name, { A: () => addresses }])),
  'six.example': { AAAA: () => ['2606:2800:21f::1'] },
});
afterAll(() => names.close());

/** Requests that came in, by host, with the name that TLS was asked for. */
const received: { host: string; servername: string | false | null }[] = [];
function answer(request: IncomingMessage, response: ServerResponse): void {
  request.resume();
  const host = request.headers.host?.replace(/:\d+$/, '') ?? '';
  received.push({ host, servername: (request.socket as Partial<TLSSocket>).servername ?? null });
  if (host !== 'dripping.example') return void response.writeHead(204).end();
  response.writeHead(200);
  const timer = setInterval(() => response.write('.'), 50);
  response.on('close', () => clearInterval(timer));
}
const good = await certificates.issue('good.example');
const servers = [createHttpServer(answer), createHttpsServer(good, answer)];
const ports = await Promise.all(servers.map(listen));
const [httpPort = 0, httpsPort = 0] = ports;

/** The tunnels that were asked for. */
const asked: string[] = [];
const proxy = createProxy(createHttpServer());
proxy.authenticate = ({ url = '', headers }) =>
  !url.startsWith(hosts['forbidden.example'][0]!) &&
  headers['proxy-authorization'] === `Basic ${Buffer.from('agency:p@ss').toString('base64')}`;
const [open] = proxy.listeners('connect');
proxy.removeAllListeners('connect');
const held = new Set<Socket>();
proxy.on('connect', (request: IncomingMessage, socket: Socket, head: Buffer) => {
  const { url = '' } = request;
  asked.push(url);
  held.add(socket.on('error', () => undefined));
  if (url.startsWith(hosts['hanging.example'][0]!)) return;
  const port = url.startsWith(hosts['nobody.example'][0]!) ? '1' : /\d+$/.exec(url)?.[0];
  if (!url.startsWith(hosts['forbidden.example'][0]!)) request.url = `127.0.0.1:${port}`;
  open?.call(proxy, request, socket, head);
});
const proxyPort = await listen(proxy);
afterAll(() => {
  for (const socket of held) socket.destroy();
  for (const server of [proxy, ...servers]) server.close();
});

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const { surroundings, dispatcher } = await runDispatcher({
  CALLBACK_RULES: 'public',
  CALLBACK_ALLOWED_NETWORKS: '127.0.0.1/32',
  DNS_SERVERS: names.address,
  OUTGOING_PROXY: `http://agency:p%40ss@127.0.0.1:${proxyPort}`,
  NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem'),
  DELIVERY_TIMEOUT_MS: String(TIMEOUT_MS),
  RETRY_MAX_ATTEMPTS: '1',
  RATE_LIMIT_PER_SECOND: '5000',
});
const log = createLogReader(surroundings, dispatcher);

async function subscribe(callbackUrl: string): Promise<string> {
  const { record } = await surroundings.subscribe({ callbackUrl });
  await log.waitForVersion(record.subscriptionId, 1);
  return record.subscriptionId;
}

const tunnelTo = (host: Host, port: number, index = 0): string => `${hosts[host][index]}:${port}`;

const cases: { url: string; tunnels: string[]; reason: FailureReason | null; status: number | null }[] = [
  {
    url: `https://good.example:${httpsPort}`,
    tunnels: [tunnelTo('good.example', httpsPort)],
    reason: null,
    status: 204,
  },
  {
    url: `http://plain.example:${httpPort}`,
    tunnels: [tunnelTo('plain.example', httpPort)],
    reason: null,
    status: 204,
  },
  {
    url: `http://six.example:${httpPort}`,
    tunnels: [`[2606:2800:21f::1]:${httpPort}`],
    reason: null,
    status: 204,
  },
  {
    url: `https://foreign.example:${httpsPort}`,
    tunnels: [tunnelTo('foreign.example', httpsPort)],
    reason: 'tls_failed',
    status: null,
  },
  {
    url: `http://dripping.example:${httpPort}`,
    tunnels: [tunnelTo('dripping.example', httpPort)],
    reason: 'timeout',
    status: 200,
  },
  {
    url: 'https://hanging.example',
    tunnels: [tunnelTo('hanging.example', 443)],
    reason: 'timeout',
    status: null,
  },
  {
    url: 'http://nobody.example',
    tunnels: [tunnelTo('nobody.example', 80)],
    reason: 'connection_refused',
    status: null,
  },
  {
    url: 'https://forbidden.example',
    tunnels: [tunnelTo('forbidden.example', 443)],
    reason: 'connection_refused',
    status: null,
  },
  {
    url: `http://second.example:${httpPort}`,
    tunnels: [tunnelTo('second.example', httpPort), tunnelTo('second.example', httpPort, 1)],
    reason: null,
    status: 204,
  },
  { url: `https://private.example:${httpsPort}`, tunnels: [], reason: 'blocked_address', status: null },
  { url: `http://unknown.example:${httpPort}`, tunnels: [], reason: 'dns_failed', status: null },
  { url: `http://own.example:${httpPort}`, tunnels: [], reason: null, status: 204 },
];

test('through the proxy to the address that was judged, with the name in TLS, and all by one deadline', async () => {
  const subscriptionIds = new Map<string, string>();
  for (const { url } of cases) subscriptionIds.set(url, await subscribe(url));
  await surroundings.publishEvents(1);
  for (const { url, reason, status } of cases) {
    const [attempt] = await log.attemptsOf(subscriptionIds.get(url)!);
    expect({ url, ...attempt }).toMatchObject({ url, reason, responseStatus: status });
    expect(attempt!.durationMs).toBeLessThan(2 * TIMEOUT_MS);
  }
  expect([...asked].sort()).toEqual(cases.flatMap(({ tunnels }) => tunnels).sort());
  expect(received).toContainEqual({ host: 'good.example', servername: 'good.example' });
}, 60_000);

test('without the proxy nothing public is reached, and an own network still is', async () => {
  const subscriptionIds = await Promise.all(
    [`http://plain.example:${httpPort}/again`, `http://own.example:${httpPort}/again`].map(subscribe),
  );
  proxy.closeAllConnections();
  for (const socket of held) socket.destroy();
  await new Promise((closed) => proxy.close(closed));
  await surroundings.publishEvents(1);
  const attempts = await Promise.all(subscriptionIds.map(log.attemptsOf));
  expect(attempts.map(([attempt]) => attempt?.reason)).toEqual(['connection_refused', null]);
}, 30_000);
