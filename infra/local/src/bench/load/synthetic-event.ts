import { randomUUID } from 'node:crypto';
import { eventTypes, topicOfEvent, type EventType } from '@assistance/types';

export interface SyntheticEvent {
  id: string;
  type: string;
  topic: string;
  /** The record's key, too: each event is about something of its own. */
  subject: string;
  /** About 430 bytes. */
  body: Buffer;
}

/** An event as the agency's systems publish it. */
export function syntheticEvent(type: string): SyntheticEvent {
  const [id, subject, at] = [`evt_${randomUUID()}`, randomUUID(), new Date().toISOString()];
  const data = { documentId: subject, caseId: `case_${randomUUID()}`, availableAt: at, changedAt: at };
  const event = {
    ...{ specversion: '1.0', id, source: '/bench', type, subject, time: at },
    ...{ datacontenttype: 'application/json', data },
  };
  return { id, type, topic: topicOf(type), subject, body: Buffer.from(JSON.stringify(event)) };
}

const topicOf = (type: string): string =>
  type in eventTypes ? topicOfEvent[type as EventType].name : `assistance.events.${type}.v1`;
