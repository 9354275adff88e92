import { intakeType, topics, type Channel, type EventData, type IntakeData } from '@assistance/types';
import { cloudEventOf, newId, structuredRecord, type OutgoingRecord } from '@assistance/service-kit';

const SOURCE = 'assistance/applications';

/** What other systems are told of an application: the columns that their messages are made of. */
export interface ToldApplication {
  applicationId: string;
  programCode: string;
  programVersion: number;
  applicantRef: string;
  declarationId: string | null;
  channel: string;
  caseId: string | null;
  submittedAt: Date;
}

/** The hand-over to case management: open a case, judge what a machine cannot, or close what is open. */
export function intakeRecord(
  kind: IntakeData['kind'],
  application: ToldApplication,
  at: Date,
): OutgoingRecord {
  const data: IntakeData = {
    kind,
    applicationId: application.applicationId,
    programCode: application.programCode,
    programVersion: application.programVersion,
    applicantRef: application.applicantRef,
    declarationId: application.declarationId,
    channel: application.channel as Channel,
    caseId: application.caseId,
    submittedAt: application.submittedAt.toISOString(),
    requestedAt: at.toISOString(),
  };
  return recordOf(topics.intake.name, intakeType, application.applicationId, at, data);
}

/** The event that subscribers get: ids, the decision and its time. */
export function decidedRecord(
  decision: EventData<'application.decided'>['decision'],
  { applicationId, programCode, caseId }: Pick<ToldApplication, 'applicationId' | 'programCode' | 'caseId'>,
  at: Date,
): OutgoingRecord {
  const data: EventData<'application.decided'> = {
    applicationId,
    programCode,
    decision,
    decidedAt: at.toISOString(),
    caseId,
  };
  return recordOf(topics.applicationDecided.name, 'application.decided', applicationId, at, data);
}

const recordOf = (topic: string, type: string, subject: string, time: Date, data: unknown): OutgoingRecord =>
  structuredRecord(topic, cloudEventOf({ id: newId('evt'), source: SOURCE, type, subject, time, data }));
