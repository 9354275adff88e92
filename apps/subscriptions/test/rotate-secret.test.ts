import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { subscriptionWithSecret } from '@assistance/types';
import { startEventsApi, type Caller, type EventsApi } from './start-events-api.ts';
import { subscribe, takeOutbox, takeRecord } from './subscriptions-of.ts';

const overlapMs = 3_600_000;
let api: EventsApi;
let caller: Caller;
beforeAll(async () => {
  api = await startEventsApi({ secretOverlapMs: overlapMs });
  caller = api.as('partner');
});
afterAll(() => api.stop());

test('answers the subscription with a new secret; both sign until the older one runs out', async () => {
  const made = await subscribe(caller);
  const { subscriptionId } = made;
  await takeOutbox(api, subscriptionId);
  const { statusCode, headers, body } = await caller(
    'POST',
    `/subscriptions/${subscriptionId}/rotate-secret`,
  );
  expect(statusCode).toBe(200);
  expect(headers['cache-control']).toBe('no-store');
  expect(subscriptionWithSecret.strict().parse(body)).toMatchObject({
    subscriptionId,
    version: 2,
    status: 'active',
  });
  expect(body.signingSecret).not.toBe(made.signingSecret);

  const { secrets, statusEpoch } = await takeRecord(api, subscriptionId);
  const opened = secrets.map(({ sealed }) => api.keyRing.open(sealed, subscriptionId).toString());
  expect(opened).toEqual([body.signingSecret, made.signingSecret]);
  const [newer, older] = secrets;
  expect(newer?.expiresAt).toBeNull();
  expect(Date.parse(older?.expiresAt ?? '')).toBe(Date.parse(newer?.createdAt ?? '') + overlapMs);
  expect(statusEpoch).toBe(1);
});

test('three live secrets are the most, also when many ask at once', async () => {
  const { subscriptionId } = await subscribe(caller);
  const path = `/subscriptions/${subscriptionId}/rotate-secret`;
  const answers = await Promise.all(Array.from({ length: 5 }, () => caller('POST', path)));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 409, 409, 409]);
  const refused = answers.find(({ statusCode }) => statusCode === 409);
  expect(refused?.body.code).toBe('too_many_secrets');
  expect(refused?.body.signingSecret).toBeUndefined();
});
