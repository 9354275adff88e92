import { z } from 'zod';
import { dateTime } from './date-time.ts';

/** One entry of the catalogue (specification 6): what happened, and the shape of `data`. */
export const eventTypes = {
  'case.status_changed': {
    description: 'A case moved to a new status.',
    data: z.looseObject({
      caseId: z.string().min(1),
      applicationId: z.string().min(1),
      status: z.string().min(1),
      previousStatus: z.string().nullable(),
      changedAt: dateTime,
    }),
  },
  'application.decided': {
    description: 'An application was found eligible, ineligible, or awarded.',
    data: z.looseObject({
      applicationId: z.string().min(1),
      programCode: z.string().min(1),
      decision: z.enum(['eligible', 'ineligible', 'awarded']),
      decidedAt: dateTime,
      caseId: z.string().nullable(),
    }),
  },
  'document.available': {
    description: 'A document passed scanning and is ready.',
    data: z.looseObject({
      documentId: z.string().min(1),
      caseId: z.string().nullish(),
      availableAt: dateTime,
    }),
  },
  'request.released': {
    description: 'A records request release package was published.',
    data: z.looseObject({ requestId: z.string().min(1), releasedAt: dateTime }),
  },
} as const;

export type EventType = keyof typeof eventTypes;
export const eventTypeNames = Object.keys(eventTypes) as [EventType, ...EventType[]];
export const eventType = z.enum(eventTypeNames);

/** Sent to one subscription alone when its owner asks for a test; not in the catalogue. */
export const testEventType = 'subscription.test';

/** Specification 2.7. */
export const eventTypeEntry = z.object({ type: eventType, description: z.string() });
export type EventTypeEntry = z.infer<typeof eventTypeEntry>;

const attribute = z.string().min(1);

/**
 * CloudEvents 1.0, structured JSON. Producers may add extension attributes and more fields; they are kept and
 * passed on as they came.
 */
export const cloudEvent = z.looseObject({
  specversion: z.literal('1.0'),
  id: attribute,
  source: attribute,
  type: attribute,
  subject: attribute.optional(),
  time: z.iso.datetime({ offset: true }).optional(),
  datacontenttype: z.string().optional(),
  data: z.unknown().optional(),
});

/** A CloudEvent of one type with the `data` that its schema names. */
export interface CloudEvent<Type extends string = string, Data = unknown> {
  specversion: '1.0';
  id: string;
  source: string;
  type: Type;
  subject: string;
  time: string;
  datacontenttype: 'application/json';
  data: Data;
}

export type EventData<T extends EventType> = z.infer<(typeof eventTypes)[T]['data']>;
