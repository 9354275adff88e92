import { z } from 'zod';
import { jsonSchemaOf, type Json } from '@assistance/service-kit';
import { cloudEvent, eventTypeNames, eventTypes, type EventType } from '@assistance/types';

/** What a subscriber's endpoint receives, for the description: one webhook for each event type of the catalogue. */
export const deliveryWebhooks = (): Record<string, Json> =>
  Object.fromEntries(eventTypeNames.map((type) => [type, { post: deliveryOf(type) }]));

function deliveryOf(type: EventType): Json {
  const { description, data } = eventTypes[type];
  return {
    operationId: `receive.${type}`,
    tags: ['Deliveries'],
    summary: description,
    security: [],
    parameters: headers,
    requestBody: {
      required: true,
      content: {
        'application/cloudevents+json': {
          schema: jsonSchemaOf(cloudEvent.extend({ type: z.literal(type), data }), 'output'),
        },
      },
    },
    responses: {
      '2XX': { description: 'Taken. Anything else, or nothing within 15 seconds, is tried again.' },
      '410': { description: 'Not wanted any more: the subscription is paused.' },
      '429': { description: 'Too much: everything to this endpoint waits as long as `Retry-After` says.' },
    },
  };
}

const header = (name: string, description: string, more: Json = {}): Json => ({
  ...{ name, in: 'header', required: true, description, schema: { type: 'string' } },
  ...more,
});
const addition = { 'x-addition': true };

const headers = [
  header(
    'X-Service-Signature',
    '`t=<unix seconds>,v1=<hex>`: HMAC-SHA256 of `<t>.<body>` under the signing secret.',
  ),
  header('webhook-id', 'The id of the event: the same whenever it is delivered again.', addition),
  header('webhook-timestamp', 'Unix seconds of this attempt.', addition),
  header('webhook-signature', 'The same delivery signed as Standard Webhooks says.', addition),
  header('X-Service-Replay', 'Only on a replay: its id.', { required: false, ...addition }),
];
