import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cloudEvent, subscriptionCommands, topics } from '@assistance/types';
import { startEventsApi, type Caller, type EventsApi } from './start-events-api.ts';
import { subscribe, takeOutbox } from './subscriptions-of.ts';

let api: EventsApi;
let caller: Caller;
beforeAll(async () => {
  api = await startEventsApi();
  caller = api.as('partner');
});
afterAll(() => api.stop());

test('answers 202 with the id of the event, and asks the dispatcher to send it', async () => {
  const { subscriptionId } = await subscribe(caller);
  await takeOutbox(api, subscriptionId);
  const { statusCode, body } = await caller('POST', `/subscriptions/${subscriptionId}/test`);
  expect(statusCode).toBe(202);
  expect(body).toEqual({ eventId: expect.stringMatching(/^evt_[0-9a-z]{26}$/) });

  const [command, ...more] = await takeOutbox(api, subscriptionId);
  expect(more).toEqual([]);
  expect(command?.topic).toBe(topics.command.name);
  expect(command?.headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
  const event = cloudEvent.parse(command?.value);
  expect(event).toMatchObject({ type: 'subscription.test_requested', subject: subscriptionId });
  expect(subscriptionCommands['subscription.test_requested'].strict().parse(event.data)).toMatchObject({
    subscriptionId,
    version: 1,
    eventId: body.eventId,
  });
});

test('a body is passed over, whatever it is', async () => {
  const { subscriptionId } = await subscribe(caller);
  const { statusCode } = await caller('POST', `/subscriptions/${subscriptionId}/test`, 'no json', {
    'content-type': 'text/plain',
  });
  expect(statusCode).toBe(202);
});
