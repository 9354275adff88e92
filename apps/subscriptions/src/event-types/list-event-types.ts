import type { Answer } from '@assistance/service-kit';
import { eventTypeNames, eventTypes, type EventTypeEntry } from '@assistance/types';

/** GET /event-types: the catalogue (specification 6), for every valid token. */
export function listEventTypes(): Answer {
  const entries: EventTypeEntry[] = eventTypeNames.map((type) => ({
    type,
    description: eventTypes[type].description,
  }));
  return { status: 200, body: entries };
}
