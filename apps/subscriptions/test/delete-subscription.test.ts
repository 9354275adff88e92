import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startEventsApi, type Caller, type EventsApi } from './start-events-api.ts';
import { subscribe, takeOutbox, takeRecord } from './subscriptions-of.ts';

let api: EventsApi;
let caller: Caller;
beforeAll(async () => {
  api = await startEventsApi();
  caller = api.as('partner');
});
afterAll(() => api.stop());

test('answers 204 without a body; from then on it is 404 for everything', async () => {
  const { subscriptionId } = await subscribe(caller);
  const path = `/subscriptions/${subscriptionId}`;
  const { statusCode, rawBody } = await caller('DELETE', path);
  expect(statusCode).toBe(204);
  expect(rawBody).toHaveLength(0);
  const after = await Promise.all([
    caller('GET', path),
    caller('DELETE', path),
    caller('PATCH', path, { status: 'active' }),
    caller('POST', `${path}/rotate-secret`),
    caller('POST', `${path}/test`),
    caller('POST', `${path}/replay`),
    caller('GET', `${path}/replays`),
  ]);
  expect(after.map((answer) => answer.statusCode)).toEqual(Array(7).fill(404));
});

test('tells the dispatcher by a record that keeps the owner and no secret', async () => {
  const { subscriptionId } = await subscribe(caller);
  await takeOutbox(api, subscriptionId);
  await caller('DELETE', `/subscriptions/${subscriptionId}`);
  expect(await takeRecord(api, subscriptionId)).toMatchObject({
    status: 'deleted',
    version: 2,
    owner: `${api.issuer}#partner`,
    secrets: [],
  });
});

test('cancels its unfinished replays', async () => {
  const { subscriptionId } = await subscribe(caller);
  const { body } = await caller('POST', `/subscriptions/${subscriptionId}/replay`);
  await caller('DELETE', `/subscriptions/${subscriptionId}`);
  const replay = await api.prisma.replay.findUniqueOrThrow({ where: { replayId: body.replayId } });
  expect(replay).toMatchObject({ status: 'cancelled', completedAt: expect.any(Date) });
});

test('of two at once one deletes and the other finds nothing', async () => {
  const { subscriptionId } = await subscribe(caller);
  await takeOutbox(api, subscriptionId);
  const answers = await Promise.all([1, 2].map(() => caller('DELETE', `/subscriptions/${subscriptionId}`)));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([204, 404]);
  await takeRecord(api, subscriptionId);
});
