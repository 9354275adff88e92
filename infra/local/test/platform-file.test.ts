import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { testKafka } from '@assistance/test-kit';
import { startKafka } from '../src/kafka/start-kafka.ts';
import { KeptFile } from '../src/machine/kept-file.ts';
import { platformAddresses } from '../src/platform/platform-addresses.ts';
import { describePlatform, platformFile } from '../src/platform/platform-file.ts';
import { platformSettings } from '../src/platform/platform-settings.ts';
import type { Surroundings } from '../src/platform/process-environment.ts';
import { ProcessLedger } from '../src/processes/process-ledger.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'platform-file-'))));
afterEach(() => rmSync(folder, { recursive: true }));

test('the file says where everything is, the audience, and who may call', async () => {
  const settings = platformSettings(['--instances', '2'], {});
  const addresses = await platformAddresses(settings, join(folder, 'ports.json'));
  const clients = [{ clientId: 'keyed-partner', privateJwk: { kty: 'EC' }, scopes: ['events:manage'] }];
  const surroundings = { addresses, brokers: ['kafka:9092'], databases: {} } as unknown as Surroundings;
  const file = describePlatform(surroundings, clients, { postgres: 1 });
  expect(platformFile.parse(file)).toEqual(file);
  const own = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/);
  const services = ['applications', 'subscriptions', 'webhook-dispatcher'].flatMap((name) => [
    name,
    `${name}-2`,
  ]);
  expect(file).toMatchObject({
    applications: 'http://localhost:8080/applications/v1',
    events: 'http://localhost:8080/events/v1',
    deliveries: 'http://localhost:8080/deliveries/v1',
    issuer: 'http://localhost:8080/auth',
    audience: addresses.audience,
    clients,
    services: Object.fromEntries(services.map((name) => [name, own])),
    ops: Object.fromEntries([...services, 'sandbox'].map((name) => [name, own])),
  });
  expect(new Set([...Object.values(file.services), ...Object.values(file.ops)]).size).toBe(13);
});

test('the file is written whole, whoever reads meanwhile', async () => {
  const kept = new KeptFile(join(folder, 'platform.json'));
  const value = (n: number) => ({ n, padding: 'x'.repeat(100_000) });
  kept.write(value(0));
  const reader = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const { readFileSync } = require('node:fs');
     let reads = 0;
     for (;;) {
       const { n } = JSON.parse(readFileSync(workerData, 'utf8'));
       reads += 1;
       if (reads === 1) parentPort.postMessage('reading');
       if (n === -1) { parentPort.postMessage(reads); break; }
     }`,
    { eval: true, workerData: kept.path },
  );
  await once(reader, 'message');
  for (let n = 1; n <= 300; n++) kept.write(value(n));
  kept.write(value(-1));
  const [reads] = (await once(reader, 'message')) as [number];
  expect(reads).toBeGreaterThan(1);
});

test('brokers of your own are no process of the platform', async () => {
  const { brokers } = testKafka();
  const ledger = new ProcessLedger(join(folder, 'processes.json'));
  const options = { dataDir: folder, port: 1, controllerPort: 2, logFile: join(folder, 'log'), ledger };
  const started = await startKafka(options, { KAFKA_BROKERS: brokers.join(',') });
  expect(started).toEqual({ brokers, process: null });
});
