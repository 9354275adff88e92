import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { createKeyRing, type KeyRingConfig } from '@assistance/service-kit';
import { runCommand, waitUntil } from '@assistance/test-kit';
import { verify } from '@assistance/webhook-signature';
import { createSurroundings, startDispatcher } from './start-dispatcher.ts';

const DEADLINE = { timeoutMs: 30_000 };
const surroundings = await createSurroundings();
afterAll(() => surroundings.close(), 30_000);

const { keys } = JSON.parse(surroundings.environment['KEY_RING'] ?? '') as KeyRingConfig;
const k2 = randomBytes(32).toString('base64');
const ringOf = (config: KeyRingConfig) => ({ KEY_RING: JSON.stringify(config) });
const withNew = ringOf({ current: 'k1', keys: { ...keys, k2 } });
const newCurrent = ringOf({ current: 'k2', keys: { ...keys, k2 } });
const withoutOld = ringOf({ current: 'k2', keys: { k2 } });

test('keys are rotated while deliveries go on: each is signed as before, and afterwards without the old key', async () => {
  const receiver = await surroundings.receive();
  const { secret, record, change } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const deliver = async (count: number): Promise<void> => {
    const before = receiver.received.length;
    await surroundings.publishEvents(count);
    await waitUntil(() => receiver.received.length >= before + count, DEADLINE);
    for (const { body, headers } of receiver.received.slice(before)) {
      expect(verify({ body: Buffer.from(body), headers, secrets: [secret] })).toEqual({ ok: true });
    }
  };
  const keysInUse = () =>
    runCommand({
      folder: join(import.meta.dirname, '..'),
      command: ['keys-in-use'],
      environment: { DATABASE_URL: surroundings.database.url, ...newCurrent },
    });

  const dispatcher = await startDispatcher(surroundings, withNew);
  await deliver(20);
  expect(await keysInUse()).toEqual({
    code: 1,
    output: '1 secrets are under k1.\nOlder keys are still needed.\n',
  });

  const ring = createKeyRing({ current: 'k2', keys: { k2 } });
  const sealed = ring.seal(Buffer.from(secret), record.subscriptionId);
  const [kept] = record.secrets;
  const rotated = change({ secrets: [{ ...kept!, sealed }] });
  await Promise.all([rotated, deliver(100)]);
  await waitUntil(async () => (await keysInUse()).code === 0, DEADLINE);
  await dispatcher.stop();

  await startDispatcher(surroundings, withoutOld);
  await deliver(20);
}, 120_000);
