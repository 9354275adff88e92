import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKeyRing, createLogger } from '@assistance/service-kit';
import { runCommand, staySilent } from '@assistance/test-kit';
import { keysInUse } from '../src/upkeep/keys-in-use.ts';
import { resealSecrets } from '../src/upkeep/reseal-secrets.ts';
import { startEventsApi, type Caller, type EventsApi } from './start-events-api.ts';
import { subscribe, takeOutbox } from './subscriptions-of.ts';

const k2 = randomBytes(32).toString('base64');
let api: EventsApi;
let caller: Caller;
beforeAll(async () => {
  api = await startEventsApi({ maxSubscriptionsPerClient: 1_000 });
  caller = api.as('partner');
});
afterAll(() => api.stop());

const both = () => ({ current: 'k2', keys: { ...api.keyRingConfig.keys, k2 } });
const rotate = (ring: unknown = both()) =>
  runCommand({
    folder: join(import.meta.dirname, '..'),
    command: ['rotate-keys'],
    environment: { DATABASE_URL: api.databaseUrl, KEY_RING: JSON.stringify(ring) },
  });

test('under load nothing fails; afterwards every secret opens without the old key, and each change was published', async () => {
  const made = await Promise.all(Array.from({ length: 230 }, () => subscribe(caller)));
  let isOn = true;
  const statuses = new Set<number>();
  const load = made.slice(0, 4).map(async ({ subscriptionId }, i) => {
    for (let n = 0; isOn; n++) {
      const status = (n + i) % 2 === 0 ? 'paused' : 'active';
      const { statusCode } = await caller('PATCH', `/subscriptions/${subscriptionId}`, { status });
      statuses.add(statusCode);
    }
  });
  const { code, output } = await rotate();
  isOn = false;
  await Promise.all(load);
  expect([...statuses]).toEqual([200]);
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('All secrets are under k2.') });

  const withoutOld = createKeyRing({ current: 'k2', keys: { k2 } });
  for (const { subscriptionId, signingSecret } of made) {
    const published = (await takeOutbox(api, subscriptionId)).map(({ value }) => value);
    const versions = published.map(({ version }) => version);
    expect(versions).toEqual(versions.map((_each, i) => i + 1));
    const secrets = published
      .at(-1)
      .secrets.map(({ sealed }: { sealed: string }) => withoutOld.open(sealed, subscriptionId).toString());
    expect(secrets).toEqual([signingSecret]);
  }
});

test('a subscription that another holds is passed over, and found by the next walk', async () => {
  const { subscriptionId } = await subscribe(caller);
  const ring = createKeyRing(both());
  const log = createLogger({ service: 'test', level: 'silent' });
  const walk = () => resealSecrets({ prisma: api.prisma, keyRing: ring, log, wakeRelay: () => undefined });
  await api.prisma.$transaction(async (other) => {
    await staySilent(other);
    await other.$executeRawUnsafe(
      `select 1 from subscription where subscription_id = $1 for update`,
      subscriptionId,
    );
    expect(await walk()).toBe(0);
  });
  expect((await keysInUse(api.prisma)).get('k1')).toBe(1);
  expect(await walk()).toBe(1);
  expect([...(await keysInUse(api.prisma)).keys()]).toEqual(['k2']);
});

test('a secret whose key is not in the ring is counted, and does not hold up the rest', async () => {
  const k3 = randomBytes(32).toString('base64');
  await subscribe(caller);
  const { code, output } = await rotate({ current: 'k3', keys: { ...api.keyRingConfig.keys, k3 } });
  expect(code).toBe(1);
  expect(output).toMatch(/^\d+ secrets are under k2 still\.$/m);
  expect(output).not.toMatch(/under k1/);
  expect((await keysInUse(api.prisma)).get('k3')).toBe(1);
});
