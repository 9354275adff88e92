import type { Application, ApplicationStatus, Channel } from '@assistance/types';

/** The columns that the resource is made of. */
export interface ApplicationColumns {
  applicationId: string;
  programCode: string;
  status: string;
  submittedAt: Date;
  channel: string;
  declarationId: string | null;
  applicantRef: string;
  caseId: string | null;
}

/** Specification 2.1: all eight fields, always, and nothing else. */
export const applicationOf = (row: ApplicationColumns): Application => ({
  applicationId: row.applicationId,
  programCode: row.programCode,
  status: row.status as ApplicationStatus,
  submittedAt: row.submittedAt.toISOString(),
  channel: row.channel as Channel,
  declarationId: row.declarationId,
  applicantRef: row.applicantRef,
  caseId: row.caseId,
});
