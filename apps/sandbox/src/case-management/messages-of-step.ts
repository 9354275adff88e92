import { topics, type CaseMessageData, type CaseMessageType, type EventData } from '@assistance/types';
import { cloudEventOf, structuredRecord, type OutgoingRecord } from '@assistance/service-kit';
import type { CaseStep } from './case-step.ts';

const source = topics.cases.producer;

/** What case management tells of a step: the answer to the applications service, and the event to the world. */
export function messagesOfStep(step: CaseStep): OutgoingRecord[] {
  const { at, applicationId } = step;
  switch (step.step) {
    case 'case_opened':
      return [
        answer(step, 'case.opened', { applicationId, caseId: step.caseId, openedAt: at }),
        statusChanged(step, 'opened', null),
      ];
    case 'case_determined': {
      const { caseId, outcome, previousStatus } = step;
      const told = answer(step, 'case.determined', { applicationId, caseId, outcome, determinedAt: at });
      return previousStatus === 'closed' ? [told] : [told, statusChanged(step, outcome, previousStatus)];
    }
    case 'case_closed':
      return [statusChanged(step, 'closed', step.previousStatus)];
    case 'review_asked':
      return [];
    case 'review_determined':
      return [answer(step, 'review.determined', { applicationId, outcome: step.outcome, determinedAt: at })];
    default:
      return step satisfies never;
  }
}

function answer<T extends CaseMessageType>(
  { ids, applicationId, at }: Extract<CaseStep, { ids: unknown }>,
  type: T,
  data: CaseMessageData<T>,
): OutgoingRecord {
  const time = new Date(at);
  return structuredRecord(
    topics.cases.name,
    cloudEventOf({ id: ids.answer, source, type, subject: applicationId, time, data }),
  );
}

function statusChanged(
  { ids, caseId, applicationId, at }: Extract<CaseStep, { caseId: string }>,
  status: string,
  previousStatus: string | null,
): OutgoingRecord {
  const data: EventData<'case.status_changed'> = {
    caseId,
    applicationId,
    status,
    previousStatus,
    changedAt: at,
  };
  return structuredRecord(
    topics.caseStatusChanged.name,
    cloudEventOf({
      id: ids.event,
      source,
      type: 'case.status_changed',
      subject: caseId,
      time: new Date(at),
      data,
    }),
  );
}
