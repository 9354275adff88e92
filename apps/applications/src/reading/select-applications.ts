import type { Sql } from '@assistance/service-kit';
import type { ApplicationColumns } from './application-of.ts';

export interface ApplicationFilters {
  programCode: string | null;
  owner: string | null;
  statuses: readonly string[];
  after: { submittedAt: Date; applicationId: string } | null;
  limit: number;
}

/**
 * The newest applications after a place. Each status is read from the index that begins with the other filters, `limit`
 * rows at most, and the heads are merged: the cost is the same at any depth and for any mix of filters.
 */
export function selectApplications(sql: Sql, filters: ApplicationFilters): PromiseLike<ApplicationColumns[]> {
  const { programCode, owner, statuses, after, limit } = filters;
  const parameters: unknown[] = [];
  const given = (value: unknown): string => `$${parameters.push(value)}`;
  const conditions = [
    ...(programCode === null ? [] : [`and program_code = ${given(programCode)}`]),
    ...(owner === null ? [] : [`and owner = ${given(owner)}`]),
    ...(after === null
      ? []
      : [
          `and (submitted_at, application_id) < (${given(after.submittedAt)}::timestamptz, ${given(after.applicationId)})`,
        ]),
  ];
  const most = `${given(limit)}::int`;
  return sql.$queryRawUnsafe<ApplicationColumns[]>(
    `select a.application_id as "applicationId", a.program_code as "programCode", a.status,
            a.submitted_at as "submittedAt", a.channel, a.declaration_id as "declarationId",
            a.applicant_ref as "applicantRef", a.case_id as "caseId"
     from unnest(${given(statuses)}::text[]) as wanted (status)
     cross join lateral (
       select * from application
       where application.status = wanted.status ${conditions.join(' ')}
       order by application.submitted_at desc, application.application_id desc limit ${most}
     ) a
     order by a.submitted_at desc, a.application_id desc limit ${most}`,
    ...parameters,
  );
}
