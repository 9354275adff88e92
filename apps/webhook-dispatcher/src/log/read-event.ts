import { createHash } from 'node:crypto';
import { cloudEvent, eventTypes, topicOfEvent, type EventType } from '@assistance/types';
import { parseJson, UnacceptableRecord, type ReceivedRecord } from '@assistance/service-kit';

/** An event on its way into the log. `body` is the record's value, byte for byte. */
export interface IncomingEvent {
  type: string;
  /** Set for an event that is meant for one lane alone. */
  onlyLane: number | null;
  /** A digest of source and id: the same event has the same key. */
  eventKey: string;
  /** The id that receivers see: the event's own, or a digest where that cannot stand in a header. */
  webhookId: string;
  /** The CloudEvents subject, else the record's key: the unit of order. */
  subject: string;
  eventTime: Date;
  body: Buffer;
}

const typeOfTopic = new Map<string, EventType>(
  (Object.keys(eventTypes) as EventType[]).map((type) => [topicOfEvent[type].name, type]),
);

/** The topics that carry events for subscribers. */
export const eventTopics = [...typeOfTopic.keys()];

/** What is no valid event of its topic is unacceptable: it goes to the dead-letter topic and holds up nothing. */
export function readEvent(record: ReceivedRecord): IncomingEvent {
  const parsed = cloudEvent.safeParse(parseJson(record));
  if (!parsed.success) throw new UnacceptableRecord('the record is not a CloudEvent');
  const { id, source, type, subject, time } = parsed.data;
  if (type !== typeOfTopic.get(record.topic))
    throw new UnacceptableRecord('the type is not that of the topic');
  const order = subject ?? record.key ?? '';
  for (const text of [id, source, order]) {
    if (text.includes('\0') || !text.isWellFormed()) {
      throw new UnacceptableRecord('id, source or subject has NUL or a lone surrogate');
    }
  }
  return {
    type,
    onlyLane: null,
    eventKey: eventKeyOf(source, id),
    webhookId: webhookIdOf(source, id),
    subject: order,
    eventTime: time === undefined ? record.timestamp : new Date(time),
    body: record.value ?? Buffer.alloc(0),
  };
}

const digestOf = (source: string, id: string): string =>
  createHash('sha256').update(source).update('\0').update(id).digest('hex').slice(0, 32);

export function eventKeyOf(source: string, id: string): string {
  const hex = digestOf(source, id);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const webhookIdOf = (source: string, id: string): string =>
  /^[\x21-\x7e]{1,255}$/.test(id) ? id : `evt_${digestOf(source, id)}`;
