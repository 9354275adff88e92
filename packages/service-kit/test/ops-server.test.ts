import { afterEach, expect, test } from '@jest/globals';
import { freePort } from '@assistance/test-kit';
import { createMetrics, createOpsServer, Readiness, type Part } from '../src/index.ts';
import { call } from './support/call.ts';

let server: Part;
afterEach(() => server.stop());

async function start(readiness: Readiness): Promise<string> {
  const port = await freePort();
  server = createOpsServer({ port, readiness, metrics: createMetrics('things') });
  await server.start();
  return `http://127.0.0.1:${port}`;
}

test('is live as soon as it runs, and ready when everything it needs is there', async () => {
  const there = { database: false, kafka: false };
  const readiness = new Readiness([
    { name: 'database', isReady: () => there.database },
    { name: 'kafka', isReady: () => there.kafka },
  ]);
  const url = await start(readiness);
  expect(await call('GET', `${url}/livez`)).toMatchObject({ status: 200, body: { status: 'live' } });
  const ready = async () => {
    const { status, body } = await call('GET', `${url}/readyz`);
    return [status, body];
  };
  expect(await ready()).toEqual([503, { status: 'not_ready', missing: ['database', 'kafka'] }]);
  there.database = true;
  expect(await ready()).toEqual([503, { status: 'not_ready', missing: ['kafka'] }]);
  there.kafka = true;
  expect(await ready()).toEqual([200, { status: 'ready', missing: [] }]);
  readiness.turnOff();
  expect(await ready()).toEqual([503, { status: 'not_ready', missing: ['stopping'] }]);
  expect((await call('GET', `${url}/livez`)).status).toBe(200);
});

test('shows its metrics as Prometheus reads them, and nothing else', async () => {
  const url = await start(new Readiness([]));
  const { status, headers, body } = await call('GET', `${url}/metrics`);
  expect(status).toBe(200);
  expect(headers['content-type']).toMatch(/^text\/plain; version=/);
  expect(body).toMatch(/^process_cpu_seconds_total\{service="things"\} /m);
  expect((await call('GET', `${url}/`)).status).toBe(404);
});

test('a port that is taken is said at the start', async () => {
  const url = await start(new Readiness([]));
  const second = createOpsServer({
    port: Number(new URL(url).port),
    readiness: new Readiness([]),
    metrics: createMetrics('things'),
  });
  await expect(Promise.resolve(second.start())).rejects.toThrow('EADDRINUSE');
});
