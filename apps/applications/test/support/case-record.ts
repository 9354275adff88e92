import type { CaseMessageData, CaseMessageType } from '@assistance/types';
import { topics } from '@assistance/types';
import { cloudEventOf, newId, structuredRecord, type ReceivedRecord } from '@assistance/service-kit';

const at = '2026-01-31T09:30:00.000Z';

/** A record as Kafka hands it over. */
export function caseRecord<T extends CaseMessageType>(
  type: T,
  data: Omit<CaseMessageData<T>, 'openedAt' | 'determinedAt'>,
): ReceivedRecord {
  const event = cloudEventOf({
    id: newId('evt'),
    source: 'case-management',
    type,
    subject: data.applicationId,
    time: new Date(at),
    data: { ...data, [type === 'case.opened' ? 'openedAt' : 'determinedAt']: at },
  });
  const { value, headers } = structuredRecord(topics.cases.name, event);
  return {
    topic: topics.cases.name,
    partition: 0,
    offset: '0',
    key: data.applicationId,
    value,
    headers,
    timestamp: new Date(at),
  };
}

export const opened = (applicationId: string, caseId = 'case-1') =>
  caseRecord('case.opened', { applicationId, caseId });
export const determined = (applicationId: string, outcome: 'awarded' | 'ineligible', caseId = 'case-1') =>
  caseRecord('case.determined', { applicationId, caseId, outcome });
export const reviewed = (applicationId: string, outcome: 'eligible' | 'ineligible') =>
  caseRecord('review.determined', { applicationId, outcome });
