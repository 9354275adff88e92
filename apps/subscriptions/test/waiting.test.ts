import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { refuseForSpace, waitUntil, type ServiceProcess } from '@assistance/test-kit';
import { callerOf, createSurroundings, subscribe, type Surroundings } from './create-surroundings.ts';

const KAFKA = ['kafka-publisher', 'kafka-consumer subscriptions'];

let surroundings: Surroundings;
let service: ServiceProcess;

beforeAll(async () => {
  surroundings = await createSurroundings(['database', 'kafka', 'issuer']);
  service = await surroundings.start();
}, 60_000);

afterAll(() => surroundings?.close());

const becomes = (...missing: string[]) =>
  waitUntil(async () => expect(await service.missing()).toEqual(missing) === undefined, {
    timeoutMs: 20_000,
    intervalMs: 50,
  });
async function expectUnavailable(): Promise<void> {
  const { statusCode, headers, body } = await subscribe(service, surroundings);
  expect({ statusCode, body }).toEqual({
    statusCode: 503,
    body: { code: 'unavailable', message: expect.any(String), requestId: headers['x-request-id'] },
  });
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
}

test('begun without anything it is live and answers 503; as things come it takes up its work', async () => {
  await becomes('database', 'token-issuer', ...KAFKA);
  expect(await service.liveness()).toBe(200);
  await expectUnavailable();
  await surroundings.ways.issuer.restore();
  await becomes('database', ...KAFKA);
  await expectUnavailable();
  await surroundings.ways.database.restore();
  await becomes(...KAFKA);
  expect((await subscribe(service, surroundings)).statusCode).toBe(201);
  await surroundings.ways.kafka.restore();
  await service.untilReady();
}, 60_000);

test('no space: 503, nothing is kept or acknowledged, a line says why, and then it goes on', async () => {
  const space = await refuseForSpace(surroundings.database.url, 'outbox');
  await expectUnavailable();
  await waitUntil(() => service.output().includes('No space left on device'));
  await space.lift();
  expect((await subscribe(service, surroundings)).statusCode).toBe(201);
  expect(await callerOf(service, surroundings).get('subscriptions').json()).toHaveLength(2);
});

test('without the database it is not ready, but live, and can be stopped', async () => {
  await surroundings.ways.database.cut();
  await becomes('database');
  expect(await service.liveness()).toBe(200);
  await expectUnavailable();
  surroundings.ways.kafka.hang();
  const { code, durationMs } = await service.end('SIGTERM');
  expect(code).toBe(0);
  expect(durationMs).toBeLessThan(10_000);
}, 60_000);
