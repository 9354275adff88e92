import { randomUUID } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { waitUntil, type ServiceProcess } from '@assistance/test-kit';
import { createSurroundings, type Surroundings } from './support/run-service.ts';
import { clientOf } from './support/start-service.ts';
import { get, submit, type JsonAnswer } from './support/submission.ts';

// The tests run at the same time, most of theirs being waiting, each with a database and topics of its own.
const begun: Surroundings[] = [];
let making = Promise.resolve();
afterAll(() => Promise.all(begun.map((surroundings) => surroundings.close())));

async function begin(away: NonNullable<Parameters<Surroundings['createWays']>[0]>) {
  // One after the other: Kafka is slow to say who leads many topics that are made at once.
  const made = making.then(createSurroundings);
  making = made.then(() => undefined);
  const surroundings = await made;
  begun.push(surroundings);
  const ways = await surroundings.createWays(away);
  const service = await surroundings.start(ways);
  const caller = clientOf({ baseUrl: `${service.url}/applications/v1`, issuer: surroundings.issuer });
  return { ways, service, caller: caller.extend({ timeout: { request: 25_000 } }) };
}

const KAFKA = ['kafka-publisher', 'kafka-consumer applications'];

const isLive = (service: ServiceProcess) =>
  waitUntil(async () => (await service.liveness()) === 200, { timeoutMs: 40_000 });
const becomes = (service: ServiceProcess, ...missing: string[]) =>
  waitUntil(async () => expect(await service.missing()).toEqual(missing) === undefined, {
    timeoutMs: 20_000,
    intervalMs: 100,
  }).catch((cause: unknown) => {
    throw new Error(`${String(cause)}\n${service.output().slice(-3_000)}`, { cause });
  });

function expectUnavailable({ status, headers, body }: JsonAnswer): void {
  expect({ status, body }).toEqual({
    status: 503,
    body: { code: 'unavailable', message: expect.any(String), requestId: headers['x-request-id'] },
  });
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
}

async function expectGracefulStop(service: ServiceProcess): Promise<void> {
  const { code, durationMs } = await service.end('SIGTERM');
  expect({ code, output: service.output().slice(-2_000) }).toMatchObject({ code: 0 });
  expect(durationMs).toBeLessThan(10_000);
}

test.concurrent(
  'begun without anything it is live and answers 503; as things come it takes up its work',
  async () => {
    const { ways, service, caller } = await begin(['database', 'kafka', 'issuer']);
    await isLive(service);
    await becomes(service, 'database', 'token-issuer', 'programs', ...KAFKA);
    expectUnavailable(await submit(caller));

    await ways.issuer.restore();
    await becomes(service, 'database', 'programs', ...KAFKA);
    expectUnavailable(await submit(caller));

    await ways.database.restore();
    await becomes(service, ...KAFKA);
    const accepted = await submit(caller);
    expect(accepted.status).toBe(201);

    await ways.kafka.restore();
    await service.untilReady();
    const path = `applications/${accepted.body.applicationId}`;
    await waitUntil(async () => (await get(caller, path)).body.status === 'eligible');
    await expectGracefulStop(service);
  },
  90_000,
);

test.concurrent(
  'begun without anything it can be stopped',
  async () => {
    const { service } = await begin(['database', 'kafka', 'issuer']);
    await isLive(service);
    await becomes(service, 'database', 'token-issuer', 'programs', ...KAFKA);
    await expectGracefulStop(service);
  },
  90_000,
);

test.concurrent.each([
  { away: 'database', missing: ['database', 'programs'], status: 503 },
  { away: 'issuer', missing: ['token-issuer'], status: 503 },
  // What is accepted waits in the outbox.
  { away: 'kafka', missing: KAFKA, status: 201 },
] as const)(
  'begun without the $away alone it says so, answers $status and can be stopped',
  async (only) => {
    const { service, caller } = await begin([only.away]);
    await isLive(service);
    await becomes(service, ...only.missing);
    const answer = await submit(caller);
    expect(answer.status).toBe(only.status);
    if (only.status === 503) expectUnavailable(answer);
    await expectGracefulStop(service);
  },
  90_000,
);

test.concurrent(
  'it is not ready when Kafka is away for 10 s, but live; it takes applications and tells of them later',
  async () => {
    const { ways, service, caller } = await begin([]);
    await service.untilReady();
    await ways.kafka.cut();
    const accepted = await submit(caller);
    expect(accepted.status).toBe(201);
    await becomes(service, ...KAFKA);
    expect(await service.liveness()).toBe(200);

    await ways.kafka.restore();
    await service.untilReady(30_000);

    ways.kafka.hang();
    await submit(caller);
    await expectGracefulStop(service);
  },
  90_000,
);

test.concurrent(
  'it is not ready when the database hangs, but live; nothing is accepted, and it can be stopped',
  async () => {
    const { ways, service, caller } = await begin([]);
    await service.untilReady();
    const submission = { key: randomUUID(), body: { applicantRef: randomUUID() } };
    ways.database.hang();
    const refused = submit(caller, submission);
    await becomes(service, 'database');
    expect(await service.liveness()).toBe(200);
    expectUnavailable(await refused);

    await ways.database.restore();
    await service.untilReady();
    // Nobody can know whether the first attempt was kept: a repeat finds out.
    expect((await submit(caller, submission)).status).toBe(201);

    ways.database.hang();
    // Answered or not: it is stopped with a request under way.
    const underWay = submit(caller).catch(() => undefined);
    await expectGracefulStop(service);
    await underWay;
  },
  90_000,
);
