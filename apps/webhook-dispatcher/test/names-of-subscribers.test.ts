import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, expect, test } from '@jest/globals';
import type { FailureReason } from '@assistance/types';
import { waitUntil } from '@assistance/test-kit';
import { createNameServer, type Zone } from './create-name-server.ts';
import { createLogReader } from './read-log.ts';
import { runDispatcher, type Subscribed } from './start-dispatcher.ts';

// 127.0.0.1 is opened and stands for a public address; 127.0.0.2 and ::1 are private. One server listens on all of them.

const PUBLIC = '127.0.0.1';
const PRIVATE = '127.0.0.2';
const TIMEOUT_MS = 2_000;

const cases: { name: string; has: Zone[string]; reasons: (FailureReason | null)[] }[] = [
  { name: 'public.example', has: { A: () => [PUBLIC] }, reasons: [null] },
  {
    name: 'alias-of-public.example',
    has: { A: () => ({ alias: 'a.example', addresses: [PUBLIC] }) },
    reasons: [null],
  },
  { name: 'broken.example', has: { A: () => 'SERVFAIL', AAAA: () => 'SERVFAIL' }, reasons: ['dns_failed'] },
  { name: 'half-broken.example', has: { A: () => [PUBLIC], AAAA: () => 'SERVFAIL' }, reasons: [null] },
  { name: 'without-addresses.example', has: {}, reasons: ['dns_failed'] },
  { name: 'private.example', has: { A: () => [PRIVATE] }, reasons: ['blocked_address'] },
  { name: 'private-too.example', has: { A: () => [PUBLIC, PRIVATE] }, reasons: ['blocked_address'] },
  {
    name: 'private-in-ipv6.example',
    has: { A: () => [PUBLIC], AAAA: () => ['::1'] },
    reasons: ['blocked_address'],
  },
  { name: 'only-ipv6.example', has: { AAAA: () => ['::1'] }, reasons: ['blocked_address'] },
  { name: 'mapped.example', has: { AAAA: () => ['::ffff:127.0.0.1'] }, reasons: ['blocked_address'] },
  { name: 'metadata.example', has: { A: () => ['169.254.169.254'] }, reasons: ['blocked_address'] },
  {
    name: 'alias-of-private.example',
    has: { A: () => ({ alias: 'b.example', addresses: [PRIVATE] }) },
    reasons: ['blocked_address'],
  },
  // Had the name been asked for again for the connection, that would have gone to the private address.
  { name: 'public-once.example', has: { A: (number) => [number === 1 ? PUBLIC : PRIVATE] }, reasons: [null] },
  {
    name: 'rebound-between-attempts.example',
    has: { A: (number) => [number === 1 ? PUBLIC : PRIVATE] },
    reasons: ['http_status', 'blocked_address'],
  },
  {
    name: 'rebound-with-a-kept-connection.example',
    has: { A: (number) => [number === 1 ? PUBLIC : PRIVATE] },
    reasons: ['http_status', null],
  },
];
const hanging = ['one', 'two', 'three', 'four'].map((name) => `hanging-${name}.example`);
const zone: Zone = Object.fromEntries([
  ...cases.map(({ name, has }) => [name, has]),
  ...hanging.map((name) => [name, { A: () => 'silence', AAAA: () => 'silence' }]),
]);
const names = await createNameServer(zone);
afterAll(() => names.close());

/** Where connections came in, by the name that was wanted. */
const reached = new Map<string, string[]>();
const server = createServer((request, response) => {
  request.resume();
  const name = request.headers.host?.replace(/:\d+$/, '') ?? '';
  const before = reached.get(name) ?? [];
  reached.set(name, [...before, (request.socket.localAddress ?? '').replace('::ffff:', '')]);
  const fails = name.startsWith('rebound-') && before.length === 0;
  if (name !== 'rebound-with-a-kept-connection.example') response.setHeader('connection', 'close');
  response.writeHead(fails ? 500 : 204).end();
}).listen();
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const { surroundings, dispatcher } = await runDispatcher({
  CALLBACK_RULES: 'public',
  CALLBACK_ALLOWED_NETWORKS: `${PUBLIC}/32`,
  DNS_SERVERS: names.address,
  DELIVERY_TIMEOUT_MS: String(TIMEOUT_MS),
  RETRY_MAX_ATTEMPTS: '2',
  RETRY_BASE_MS: '20',
  FAILING_AFTER_MS: '3600000',
  RATE_LIMIT_PER_SECOND: '5000',
});
const log = createLogReader(surroundings, dispatcher);

let subscribed: Subscribed[] = [];
/** Ends what the test before subscribed to. */
afterEach(async () => {
  for (const { change } of subscribed) await change({ status: 'deleted' });
  for (const { record } of subscribed) await log.waitForVersion(record.subscriptionId, 2);
  subscribed = [];
});

async function subscribe(name: string): Promise<string> {
  const created = await surroundings.subscribe({ callbackUrl: `http://${name}:${port}/` });
  subscribed.push(created);
  const { subscriptionId } = created.record;
  await log.waitForVersion(subscriptionId, 1);
  return subscriptionId;
}

test('each name leads where it may, or nowhere', async () => {
  const subscriptionIds = new Map<string, string>();
  for (const { name } of cases) subscriptionIds.set(name, await subscribe(name));
  subscriptionIds.set('unknown.example', await subscribe('unknown.example'));
  await surroundings.publishEvents(1);
  const came: Record<string, unknown> = {};
  for (const [name, subscriptionId] of subscriptionIds) {
    const attempts = await log.attemptsOf(subscriptionId);
    came[name] = attempts.map(({ reason }) => reason);
    for (const { durationMs } of attempts) expect(durationMs).toBeLessThan(2 * TIMEOUT_MS);
  }
  // Where both attempts fail alike, both are in the log.
  const twice = ({ reasons }: (typeof cases)[number]) =>
    reasons.length === 1 && reasons[0] !== null ? [reasons[0], reasons[0]] : reasons;
  expect(came).toEqual({
    ...Object.fromEntries(cases.map((each) => [each.name, twice(each)])),
    'unknown.example': ['dns_failed', 'dns_failed'],
  });
  expect(names.asked.get('A public-once.example')).toBe(1);
  expect(new Set([...reached.values()].flat())).toEqual(new Set([PUBLIC]));
}, 60_000);

test('a name that hangs is given up by the deadline', async () => {
  const subscriptionId = await subscribe(hanging[0]!);
  await surroundings.publishEvents(1);
  for (const { reason, durationMs } of await log.attemptsOf(subscriptionId)) {
    // Whichever is first, the deadline or the resolver's last try.
    expect(['timeout', 'dns_failed']).toContain(reason);
    expect(durationMs).toBeLessThan(2 * TIMEOUT_MS);
  }
}, 30_000);

test('four names that hang hold up nobody else', async () => {
  const subscriptionId = await subscribe('public.example');
  const { laneNo } = await surroundings.prisma.lane.findFirstOrThrow({ where: { subscriptionId } });
  let published = 0;
  /** How long so many deliveries to it took. */
  const p99Of = async (count: number): Promise<number> => {
    published += count;
    await surroundings.publishEvents(count);
    await waitUntil(
      async () => (await surroundings.prisma.delivery.count({ where: { laneNo } })) === published,
      { timeoutMs: 20_000 },
    );
    const latest = await surroundings.prisma.delivery.findMany({
      where: { laneNo },
      orderBy: { seq: 'desc' },
      take: count,
    });
    return latest.map(({ durationMs }) => durationMs).sort((a, b) => a - b)[Math.ceil(count * 0.99) - 1]!;
  };
  const alone = await p99Of(200);
  for (const name of hanging) await subscribe(name);
  await p99Of(8);
  // Each of them has eight look-ups under way that end by their deadline alone.
  await waitUntil(() => hanging.every((name) => (names.asked.get(`A ${name}`) ?? 0) >= 8));
  const beside = await p99Of(200);
  // The system's resolver, whose four threads would be taken, made this several seconds.
  expect(beside).toBeLessThan(alone + 500);
}, 60_000);
