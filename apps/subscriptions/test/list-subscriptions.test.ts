import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { subscription } from '@assistance/types';
import { startEventsApi, type EventsApi } from './start-events-api.ts';
import { subscribe } from './subscriptions-of.ts';

let api: EventsApi;
beforeAll(async () => {
  api = await startEventsApi();
});
afterAll(() => api.stop());

test('is an empty array for a client that has none', async () => {
  const { statusCode, body } = await api.as('nobody-yet')('GET', '/subscriptions');
  expect(statusCode).toBe(200);
  expect(body).toEqual([]);
});

test("is a bare array of the caller's own, newest first, without the deleted ones", async () => {
  const mine = api.as('lister');
  const first = await subscribe(mine);
  const second = await subscribe(mine);
  const third = await subscribe(mine);
  await subscribe(api.as('another'));
  await mine('DELETE', `/subscriptions/${second.subscriptionId}`);

  const { body } = await mine('GET', '/subscriptions');
  expect(body.map(({ subscriptionId }: { subscriptionId: string }) => subscriptionId)).toEqual([
    third.subscriptionId,
    first.subscriptionId,
  ]);
  for (const item of body) subscription.strict().parse(item);
});

test('a client of another issuer with the same name is another client', async () => {
  const [one, other] = [api.as('namesake'), api.asOfOtherIssuer('namesake')];
  const { subscriptionId } = await subscribe(one);
  expect((await other('GET', '/subscriptions')).body).toEqual([]);
  expect((await other('GET', `/subscriptions/${subscriptionId}`)).statusCode).toBe(404);
  expect((await one('GET', `/subscriptions/${subscriptionId}`)).statusCode).toBe(200);
});

test('takes no parameter, so that a misspelt filter does not list everything', async () => {
  const { statusCode, body } = await api.as('lister')('GET', '/subscriptions?status=active');
  expect(statusCode).toBe(400);
  expect(body.details).toEqual([expect.objectContaining({ parameter: 'status', code: 'unknown_parameter' })]);
});
