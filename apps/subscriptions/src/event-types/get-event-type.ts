import { z } from 'zod';
import { notFound, type Answer, type ApiRequest } from '@assistance/service-kit';
import { cloudEvent, eventType, eventTypeNames, eventTypes, type EventType } from '@assistance/types';

/** GET /event-types/{type}: with the JSON Schema (2020-12) of the body of its deliveries. */
export function getEventType({ params }: ApiRequest): Answer {
  const type = eventType.safeParse(params['type']);
  if (!type.success) throw notFound('event type');
  return { status: 200, body: describedTypes.get(type.data) };
}

const describedTypes = new Map(eventTypeNames.map((type) => [type, describe(type)]));

function describe(type: EventType) {
  const { description, data } = eventTypes[type];
  return { type, description, schema: z.toJSONSchema(cloudEvent.extend({ type: z.literal(type), data })) };
}
