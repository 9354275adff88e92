import { z } from 'zod';
import { notFound, type Answer, type ApiRequest } from '@assistance/service-kit';
import { cloudEvent, eventType, eventTypes } from '@assistance/types';

/** GET /event-types/{type}: with the JSON Schema (2020-12) of the body of its deliveries. */
export function getEventType({ params }: ApiRequest): Answer {
  const known = eventType.safeParse(params['type']);
  if (!known.success) throw notFound('event type');
  const type = known.data;
  const { description, data } = eventTypes[type];
  const schema = z.toJSONSchema(cloudEvent.extend({ type: z.literal(type), data }));
  return { status: 200, body: { type, description, schema } };
}
