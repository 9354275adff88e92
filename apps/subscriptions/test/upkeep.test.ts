import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { createKeyRing, createLogger, type KeyRing } from '@assistance/service-kit';
import { topics } from '@assistance/types';
import { BURY_AFTER_MS, burySubscriptions } from '../src/upkeep/bury-subscriptions.ts';
import { FORGET_AFTER_MS, forgetReplays } from '../src/upkeep/forget-replays.ts';
import { REPUBLISH_AFTER_MS, republishSubscriptions } from '../src/upkeep/republish-subscriptions.ts';
import { startEventsApi, type Caller, type EventsApi } from './start-events-api.ts';
import { subscribe, takeOutbox, takeRecord, wanted } from './subscriptions-of.ts';

const log = createLogger({ service: 'test', level: 'silent' });
const inMs = (ms: number) => new Date(Date.now() + ms);
const base64Key = () => randomBytes(32).toString('base64');

let api: EventsApi;
let caller: Caller;
beforeAll(async () => {
  api = await startEventsApi({ maxSubscriptionsPerClient: 1_000 });
  caller = api.as('partner');
});
afterAll(() => api.stop());

async function made(): Promise<string> {
  const { subscriptionId } = await subscribe(caller);
  await takeOutbox(api, subscriptionId);
  return subscriptionId;
}

describe('all current state is published again every hour:', () => {
  const republish = async (now: Date, keyRing: KeyRing = api.keyRing) => {
    const deps = { prisma: api.prisma, keyRing, wakeRelay: () => undefined, log };
    while (await republishSubscriptions(deps, now));
  };

  test('what is due, once, as it is; what was told within the hour is left alone', async () => {
    const subscriptionId = await made();
    await republish(inMs(REPUBLISH_AFTER_MS - 10_000));
    expect(await takeOutbox(api, subscriptionId)).toEqual([]);
    const due = inMs(REPUBLISH_AFTER_MS + 1_000);
    await republish(due);
    expect(await takeRecord(api, subscriptionId)).toMatchObject({ version: 1, status: 'active' });
    await republish(due);
    expect(await takeOutbox(api, subscriptionId)).toEqual([]);
  });

  test('a deleted one too, until it is buried', async () => {
    const subscriptionId = await made();
    await caller('DELETE', `/subscriptions/${subscriptionId}`);
    await takeOutbox(api, subscriptionId);
    await republish(inMs(2 * REPUBLISH_AFTER_MS));
    expect(await takeRecord(api, subscriptionId)).toMatchObject({ version: 2, status: 'deleted' });
  });

  test('more than one portion, by two instances at once, each once', async () => {
    const crowd = api.as('crowd');
    await Promise.all(Array.from({ length: 150 }, () => crowd('POST', '/subscriptions', wanted)));
    await api.prisma.outbox.deleteMany();
    const now = inMs(3 * REPUBLISH_AFTER_MS);
    await Promise.all([republish(now), republish(now)]);
    await republish(now);
    const keys = (await api.prisma.outbox.findMany({ select: { key: true } })).map(({ key }) => key);
    expect(keys).toHaveLength(await api.prisma.subscription.count());
    expect(new Set(keys).size).toBe(keys.length);
    await api.prisma.outbox.deleteMany();
  });

  test('a secret that has run out is dropped from it, under a new version', async () => {
    const subscriptionId = await made();
    await caller('POST', `/subscriptions/${subscriptionId}/rotate-secret`);
    expect((await takeRecord(api, subscriptionId)).secrets).toHaveLength(2);
    await republish(inMs(25 * 3_600_000));
    const record = await takeRecord(api, subscriptionId);
    expect(record).toMatchObject({ version: 3, secrets: [{ expiresAt: null }] });
    expect(record.secrets).toHaveLength(1);
  });

  test('a secret under an old key of the ring is sealed under the current one', async () => {
    const k1 = base64Key();
    const subscriptionId = await made();
    const seal = (ring: KeyRing) => [
      {
        sealed: ring.seal(Buffer.from('whsec_x'), subscriptionId),
        createdAt: new Date().toISOString(),
        expiresAt: null,
      },
    ];
    const oldRing = createKeyRing({ current: 'k1', keys: { k1 } });
    const newRing = createKeyRing({ current: 'k2', keys: { k1, k2: base64Key() } });
    await api.prisma.subscription.update({ where: { subscriptionId }, data: { secrets: seal(oldRing) } });
    await republish(inMs(30 * 3_600_000), newRing);
    const { version, secrets } = await takeRecord(api, subscriptionId);
    expect(version).toBe(2);
    expect(newRing.keyIdOf(secrets[0]?.sealed ?? '')).toBe('k2');
    expect(newRing.open(secrets[0]?.sealed ?? '', subscriptionId).toString()).toBe('whsec_x');
  });

  test('a secret whose key is not in the ring does not hold up the rest', async () => {
    const [lost, healthy] = [await made(), await made()];
    const sealed = createKeyRing({ current: 'gone', keys: { gone: base64Key() } }).seal(
      Buffer.from('x'),
      lost,
    );
    const secrets = [{ sealed, createdAt: new Date().toISOString(), expiresAt: null }];
    await api.prisma.subscription.update({ where: { subscriptionId: lost }, data: { secrets } });
    await republish(inMs(40 * 3_600_000));
    expect((await takeRecord(api, lost)).secrets).toEqual(secrets);
    expect((await takeRecord(api, healthy)).secrets).toHaveLength(1);
  });
});

test('a deleted subscription is buried 8 days later: its tombstone is written and nothing of it is left', async () => {
  const subscriptionId = await made();
  const alive = await made();
  await caller('POST', `/subscriptions/${subscriptionId}/replay`);
  await caller('DELETE', `/subscriptions/${subscriptionId}`);
  await takeOutbox(api, subscriptionId);
  const deps = { prisma: api.prisma, wakeRelay: () => undefined };

  await burySubscriptions(deps, inMs(BURY_AFTER_MS - 10_000));
  expect(await takeOutbox(api, subscriptionId)).toEqual([]);

  await burySubscriptions(deps, inMs(BURY_AFTER_MS + 1_000));
  const [tombstone, ...more] = await takeOutbox(api, subscriptionId);
  expect(more).toEqual([]);
  expect(tombstone).toMatchObject({ topic: topics.subscription.name, value: null });
  expect(tombstone?.headers).toMatchObject({ ce_type: 'subscription.recorded', ce_subject: subscriptionId });
  expect(await api.prisma.subscription.findUnique({ where: { subscriptionId } })).toBeNull();
  expect(await api.prisma.replay.count({ where: { subscriptionId } })).toBe(0);
  expect((await caller('GET', `/subscriptions/${alive}`)).statusCode).toBe(200);
});

test('a replay is forgotten 30 days after its end, an unfinished one never', async () => {
  const path = `/subscriptions/${await made()}`;
  const ended = (await caller('POST', `${path}/replay`)).body.replayId;
  const unfinished = (await caller('POST', `${path}/replay`)).body.replayId;
  await caller('DELETE', `${path}/replays/${ended}`);
  const left = async () =>
    (await caller('GET', `${path}/replays`)).body.data.map((r: { replayId: string }) => r.replayId);

  await forgetReplays({ prisma: api.prisma }, inMs(FORGET_AFTER_MS - 10_000));
  expect(await left()).toEqual([unfinished, ended]);
  await forgetReplays({ prisma: api.prisma }, inMs(FORGET_AFTER_MS + 1_000));
  expect(await left()).toEqual([unfinished]);
});
