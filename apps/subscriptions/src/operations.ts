import { z } from 'zod';
import {
  eventTypeEntry,
  replay,
  replayList,
  replayRequest,
  subscription,
  subscriptionChange,
  subscriptionCreation,
  subscriptionWithSecret,
} from '@assistance/types';
import type { Description, Operation } from '@assistance/service-kit';
import { deliveryWebhooks } from './delivery-webhooks.ts';

const subscriptions = z.array(subscription);
const eventTypes = z.array(eventTypeEntry);
const eventTypeDetail = eventTypeEntry.extend({
  schema: z
    .record(z.string(), z.unknown())
    .meta({ description: 'A JSON Schema 2020-12 of the body of a delivery of this type.' }),
});
const testRequested = z.object({ eventId: z.string() });

/** The interface as its OpenAPI document names it. */
export const description: Description = {
  title: 'Event subscriptions',
  summary: 'Subscribe to signed deliveries of events, and replay what was missed.',
  basePath: '/events/v1',
  tags: {
    Subscriptions: 'Where deliveries go, and of which event types.',
    Replays: 'Delivering the events of the last 7 days again, for recovery after an outage.',
    'Event types': 'The catalogue.',
    Deliveries: 'What is sent to your endpoint: one POST for each event.',
  },
  webhooks: deliveryWebhooks(),
  schemas: {
    answers: {
      Subscription: subscription,
      SubscriptionWithSecret: subscriptionWithSecret,
      Subscriptions: subscriptions,
      Replay: replay,
      ReplayPage: replayList,
      EventType: eventTypeEntry,
      EventTypes: eventTypes,
      EventTypeDetail: eventTypeDetail,
      TestRequested: testRequested,
    },
    bodies: {
      SubscriptionCreation: subscriptionCreation,
      SubscriptionChange: subscriptionChange,
      ReplayRequest: replayRequest,
    },
  },
};

const parameters = { subscriptionId: 'The identifier of a subscription of yours.' };
const replayParameters = { ...parameters, replayId: 'The identifier of a replay of this subscription.' };

/** What the description says of each operation; the tables of specification 4.2 give what is `specified`. */
export const operations = {
  create: {
    id: 'createSubscription',
    tag: 'Subscriptions',
    summary: 'Subscribe an endpoint to event types',
    description: 'Nothing is sent to the endpoint by this. Keep the signing secret: it is shown this once.',
    specified: { errors: [400, 401, 403] },
    answers: {
      201: {
        description: 'The subscription, active, with its signing secret.',
        schema: subscriptionWithSecret,
        headers: { Location: 'The path of the subscription.' },
      },
    },
    errors: ['subscription_limit_reached'],
    example: {
      eventTypes: ['application.decided', 'case.status_changed'],
      callbackUrl: 'https://example.com/hooks',
    },
  },
  list: {
    id: 'listSubscriptions',
    tag: 'Subscriptions',
    summary: 'List your subscriptions, newest first',
    specified: { errors: [401, 403] },
    answers: { 200: { description: 'All of them.', schema: subscriptions } },
  },
  get: {
    id: 'getSubscription',
    tag: 'Subscriptions',
    summary: 'Read a subscription',
    parameters,
    answers: { 200: { description: 'The subscription.', schema: subscription } },
    errors: ['not_found'],
  },
  change: {
    id: 'changeSubscription',
    tag: 'Subscriptions',
    summary: 'Change, pause or resume a subscription',
    description: 'Setting a failing subscription to `active` means: try now.',
    parameters,
    answers: { 200: { description: 'The subscription as changed.', schema: subscription } },
    errors: ['not_found'],
    example: { status: 'paused' },
  },
  delete: {
    id: 'deleteSubscription',
    tag: 'Subscriptions',
    summary: 'Remove a subscription',
    description: 'What was not yet sent is cancelled. Its delivery log stays readable for 7 days.',
    specified: { errors: [401, 403, 404] },
    parameters,
    answers: { 204: { description: 'It is removed.' } },
    errors: ['not_found'],
  },
  rotateSecret: {
    id: 'rotateSecret',
    tag: 'Subscriptions',
    summary: 'Get a new signing secret',
    description: 'Deliveries are signed with the older secrets too for 24 hours; at most three live at once.',
    parameters,
    answers: {
      200: {
        description: 'The subscription with the new secret, shown this once.',
        schema: subscriptionWithSecret,
      },
    },
    errors: ['not_found', 'too_many_secrets'],
  },
  test: {
    id: 'sendTest',
    tag: 'Subscriptions',
    summary: 'Have a test event delivered',
    description: 'An event `subscription.test`, to this subscription alone.',
    parameters,
    answers: { 202: { description: 'It is on its way.', schema: testRequested } },
    errors: ['not_found'],
  },
  replay: {
    id: 'requestReplay',
    tag: 'Replays',
    summary: 'Have events of the last 7 days delivered again',
    specified: { errors: [401, 403, 404] },
    parameters,
    answers: {
      202: {
        description: 'The replay has begun.',
        schema: replay,
        headers: { Location: 'The path of the replay.' },
      },
    },
    errors: ['not_found', 'too_many_replays'],
    example: { mode: 'missing' },
  },
  listReplays: {
    id: 'listReplays',
    tag: 'Replays',
    summary: 'List the replays of a subscription, newest first',
    parameters,
    answers: { 200: { description: 'A page of them.', schema: replayList } },
    errors: ['not_found'],
  },
  getReplay: {
    id: 'getReplay',
    tag: 'Replays',
    summary: 'Read a replay and its progress',
    parameters: replayParameters,
    answers: { 200: { description: 'The replay.', schema: replay } },
    errors: ['not_found'],
  },
  cancelReplay: {
    id: 'cancelReplay',
    tag: 'Replays',
    summary: 'Cancel what a replay has not yet sent',
    description: 'Does nothing to a finished one.',
    parameters: replayParameters,
    answers: { 204: { description: 'Nothing more is sent by it.' } },
    errors: ['not_found'],
  },
  listEventTypes: {
    id: 'listEventTypes',
    tag: 'Event types',
    summary: 'List the event types',
    specified: { errors: [401] },
    answers: { 200: { description: 'All of them.', schema: eventTypes } },
  },
  getEventType: {
    id: 'getEventType',
    tag: 'Event types',
    summary: 'Read an event type with the schema of its deliveries',
    parameters: { type: 'An event type of the catalogue.' },
    answers: { 200: { description: 'The event type.', schema: eventTypeDetail } },
    errors: ['not_found'],
  },
} satisfies Record<string, Operation>;
