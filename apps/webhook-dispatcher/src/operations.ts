import {
  delivery,
  deliveryDetail,
  deliveryList,
  eventFeed,
  explanation,
  reconciliation,
} from '@assistance/types';
import type { Description, Operation } from '@assistance/service-kit';

/** The interface as its OpenAPI document names it. */
export const description: Description = {
  title: 'Delivery log',
  summary: 'See what became of each event for your subscriptions, and why.',
  basePath: '/deliveries/v1',
  tags: {
    Deliveries: 'Each event on its way to a subscriber, with every attempt. Kept for 7 days.',
    Subscriptions: 'What a subscription should have received.',
  },
  schemas: {
    answers: {
      Delivery: delivery,
      DeliveryPage: deliveryList,
      DeliveryDetail: deliveryDetail,
      Reconciliation: reconciliation,
      EventPage: eventFeed,
      Explanation: explanation,
    },
  },
};

const delivered = { deliveryId: 'The identifier of a delivery.' };
const subscriptionId = 'The identifier of a subscription.';

/** What the description says of each operation. */
export const operations = {
  list: {
    id: 'listDeliveries',
    tag: 'Deliveries',
    summary: 'List deliveries, newest first',
    description: 'As a filter an unknown identifier finds an empty page.',
    parameters: {
      subscriptionId: 'Only deliveries of this subscription.',
      status:
        'Only deliveries in this status. What has expired is counted in the reconciliation and no longer listed.',
      eventType: 'Only deliveries of events of this type.',
      eventId: 'Only deliveries of this event.',
      replayId: 'Only deliveries of this replay.',
      since: 'Only deliveries of events that arrived at or after this moment.',
      until: 'Only deliveries of events that arrived before this moment.',
    },
    answers: { 200: { description: 'A page of them.', schema: deliveryList } },
  },
  get: {
    id: 'getDelivery',
    tag: 'Deliveries',
    summary: 'Read a delivery with its attempts and the event as sent',
    parameters: delivered,
    answers: { 200: { description: 'The delivery.', schema: deliveryDetail } },
    errors: ['not_found'],
  },
  retry: {
    id: 'retryDelivery',
    tag: 'Deliveries',
    summary: 'Have a delivery tried now',
    description:
      'One attempt, whatever the status. While the subscription is paused it is the first to go on resume.',
    parameters: delivered,
    answers: { 202: { description: 'The delivery as it is before the attempt.', schema: delivery } },
    errors: ['not_found'],
  },
  reconcile: {
    id: 'getReconciliation',
    tag: 'Subscriptions',
    summary: 'Count what became of the events that matched a subscription',
    description:
      'By the arrival of the event. Replays and tests are not counted. What was not delivered within the days that are kept is counted as `expired`.',
    parameters: {
      subscriptionId,
      since: 'The beginning of the stretch; by default as far back as counts are kept, 400 days.',
      until: 'The end of the stretch, not included; by default now.',
    },
    answers: {
      200: { description: 'The counts; `matched` is the sum of the others.', schema: reconciliation },
    },
    errors: ['not_found'],
  },
  listEvents: {
    id: 'listEvents',
    tag: 'Subscriptions',
    summary: 'List every event that matched a subscription, in the order of arrival',
    description: 'To heal from, whatever became of the deliveries. Nothing appears behind a cursor later.',
    parameters: { subscriptionId, since: 'Only events that arrived at or after this moment.' },
    answers: { 200: { description: 'A page of events as sent.', schema: eventFeed } },
    errors: ['not_found'],
  },
  explain: {
    id: 'explainDelivery',
    tag: 'Deliveries',
    summary: 'Ask why a subscription did, or did not, get an event',
    parameters: { subscriptionId, eventId: 'The id of an event, as in `webhook-id`.' },
    answers: { 200: { description: 'The verdict, and what to do.', schema: explanation } },
    errors: ['not_found'],
  },
} satisfies Record<string, Operation>;
