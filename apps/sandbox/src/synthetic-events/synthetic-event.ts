import { randomBytes } from 'node:crypto';
import { topicOfEvent, type CloudEvent, type EventData, type EventType } from '@assistance/types';
import { cloudEventOf, newId } from '@assistance/service-kit';

/** A well-formed event of the type, as the agency's system that owns the type would publish it. */
export function syntheticEvent(type: EventType, subject: string | undefined, now: Date): CloudEvent {
  const at = now.toISOString();
  const about = subject ?? newReference[type]();
  const data: { [T in EventType]: () => EventData<T> } = {
    'application.decided': () => ({
      applicationId: about,
      programCode: 'SYNTHETIC',
      decision: 'eligible',
      decidedAt: at,
      caseId: null,
    }),
    'case.status_changed': () => ({
      caseId: about,
      applicationId: newId('app'),
      status: 'opened',
      previousStatus: null,
      changedAt: at,
    }),
    'document.available': () => ({ documentId: about, caseId: reference('CASE'), availableAt: at }),
    'request.released': () => ({ requestId: about, releasedAt: at }),
  };
  return cloudEventOf({
    id: newId('evt'),
    source: topicOfEvent[type].producer,
    type,
    subject: about,
    time: now,
    data: data[type](),
  });
}

const newReference: Record<EventType, () => string> = {
  'application.decided': () => newId('app'),
  'case.status_changed': () => reference('CASE'),
  'document.available': () => reference('DOC'),
  'request.released': () => reference('REQ'),
};

const reference = (prefix: string): string => `${prefix}-${randomBytes(6).toString('hex').toUpperCase()}`;
