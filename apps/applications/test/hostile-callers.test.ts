import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ServiceProcess } from '@assistance/test-kit';
import { createSurroundings, type Surroundings } from './support/run-service.ts';
import { clientOf } from './support/start-service.ts';
import { get, submit } from './support/submission.ts';

// While others do their worst, the next caller notices nothing, and the process does not grow.

/** What a process grows by when it is first put to work is half of it. */
const MOST_GROWTH_BYTES = 160 * 1024 * 1024;
/** How long an answer may take: more on a machine that is slow already. */
const atMostMs = (usualMs: number): number => Math.max(1_000, 20 * usualMs);

let surroundings: Surroundings;
let service: ServiceProcess;
const sockets: Socket[] = [];
beforeAll(async () => {
  surroundings = await createSurroundings();
  const ways = await surroundings.createWays();
  // What is limited by the second would hide what is not.
  ways.environment['RATE_LIMIT_PER_SECOND'] = '10000';
  service = await surroundings.start(ways);
  await service.untilReady();
}, 60_000);
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await surroundings?.close();
});

/** Connections that send a beginning, and then a byte now and then for as long as they live. */
async function openMany(count: number, beginning: string, dripEveryMs?: number): Promise<void> {
  const { hostname, port } = new URL(service.url);
  const opened = Array.from({ length: count }, async () => {
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    sockets.push(socket);
    await once(socket, 'connect');
    socket.resume().write(beginning);
    if (dripEveryMs === undefined) return;
    const dripping = setInterval(() => socket.writable && socket.write('a'), dripEveryMs);
    socket.once('close', () => clearInterval(dripping));
  });
  await Promise.all(opened);
}

/** Each a client of its own, so that it meets no limit but what others cause. */
let callers = 0;
const newCaller = () =>
  clientOf(
    { baseUrl: `${service.url}/applications/v1`, issuer: surroundings.issuer },
    { clientId: `caller-${++callers}` },
  );
const head = (...headers: string[]): string =>
  ['POST /applications/v1/applications HTTP/1.1', 'Host: x', ...headers].join('\r\n');
const bearer = (clientId: string): string =>
  `Authorization: Bearer ${surroundings.issuer.token({ clientId, scopes: ['applications:write'] })}`;
const large = [
  'Content-Type: application/json',
  'Content-Length: 262144',
  '',
  `{"a":"${'a'.repeat(250_000)}`,
];

/** The longest time for a submission and a read, of a few one after the other. */
async function longest(): Promise<number> {
  const caller = newCaller();
  let most = 0;
  for (let n = 0; n < 5; n++) {
    const startedAt = performance.now();
    expect((await submit(caller)).status).toBe(201);
    expect((await get(caller, 'applications?limit=1')).status).toBe(200);
    most = Math.max(most, performance.now() - startedAt);
  }
  return most;
}

test('headers and bodies that stall, drip and swell are noticed by nobody else', async () => {
  await longest();
  const most = atMostMs(await longest());
  const before = await service.metric('process_resident_memory_bytes');
  const worst: [string, () => Promise<void>][] = [
    ['headers that drip', () => openMany(100, `${head()}\r\nA: `, 100)],
    [
      'headers as large as they may be, without an end',
      () => openMany(100, `${head()}\r\nA: ${'a'.repeat(31_000)}`),
    ],
    ['large bodies without a token', () => openMany(100, head(...large))],
    ['large bodies that stall', () => openMany(1_000, head(bearer('staller'), ...large))],
    [
      'chunks that drip',
      () =>
        openMany(
          100,
          `${head(bearer('dripper'), 'Content-Type: application/json', 'Transfer-Encoding: chunked')}\r\n\r\n`,
          100,
        ),
    ],
    [
      'tokens with keys that there are not',
      () => openMany(100, head(`Authorization: Bearer ${strangeToken()}`, '', '')),
    ],
  ];
  for (const [what, begin] of worst) {
    await begin();
    expect([what, Math.max(most, await longest())]).toEqual([what, most]);
  }
  const after = await service.metric('process_resident_memory_bytes');
  expect(after - before).toBeLessThan(MOST_GROWTH_BYTES);
}, 60_000);

const strangeToken = (): string => surroundings.issuer.token({ header: { kid: 'nobody-has-it' } });

test.each<[string, Record<string, unknown>]>([
  ['a reference of 250,000 characters', { applicantRef: 'a@'.repeat(125_000) }],
  ['a reference that digits fill', { applicantRef: `+${'1-'.repeat(120_000)}` }],
  [
    '15,000 fields that there are not',
    Object.fromEntries(Array.from({ length: 15_000 }, (_, n) => [`f${n}`, n])),
  ],
  ['answers of 10,000 numbers beyond what JSON carries', { answers: { n: Array(10_000).fill(2 ** 60) } }],
])('a body of %s is refused at once', async (_what, body) => {
  const caller = newCaller();
  const most = atMostMs(await longest());
  const startedAt = performance.now();
  const { status, body: refusal } = await submit(caller, { body });
  expect([status, refusal.code]).toEqual([
    400,
    expect.stringMatching(/^(validation_error|direct_identifier)$/),
  ]);
  expect(refusal.details.length).toBeLessThanOrEqual(100);
  expect(performance.now() - startedAt).toBeLessThan(most);
});
