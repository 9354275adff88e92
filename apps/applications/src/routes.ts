import { applicationSubmission } from '@assistance/types';
import { describedRoutes, pageQuery, route, type Route } from '@assistance/service-kit';
import { applicationsQuery, listApplications } from './list-applications.ts';
import { listPrograms } from './list-programs.ts';
import { description, operations } from './operations.ts';
import { readApplicantStatus } from './read-applicant-status.ts';
import { readApplication } from './read-application.ts';
import { readHistory } from './read-history.ts';
import { readProgram } from './read-program.ts';
import { submitApplication } from './submit-application.ts';
import { checkSubmissionHeaders } from './submission/check-headers.ts';
import { referenceFaults } from './submission/direct-identifier.ts';
import { optionalIdempotencyKey } from './submission/idempotency-key.ts';
import { withdrawApplication } from './withdraw-application.ts';
import type { AppDeps } from './app.ts';

/** Every operation of the interface (specification 4.1; the last three are additions). */
export const routes = (deps: AppDeps): Route[] =>
  describedRoutes(description, [
    route({
      method: 'post',
      path: '/applications',
      scope: 'applications:write',
      checkHeaders: checkSubmissionHeaders,
      body: applicationSubmission,
      bodyFaults: (body) => referenceFaults(body, deps.applicantRefPattern),
      operation: operations.submit,
      handle: submitApplication(deps),
    }),
    route({
      method: 'get',
      path: '/applications',
      scope: 'applications:read',
      query: applicationsQuery,
      operation: operations.list,
      handle: listApplications(deps),
    }),
    route({
      method: 'get',
      path: '/applications/:applicationId',
      scope: 'applications:read',
      operation: operations.read,
      handle: readApplication(deps),
    }),
    route({
      method: 'get',
      path: '/applications/:applicationId/status',
      scope: 'applications:read',
      operation: operations.readStatus,
      handle: readApplicantStatus(deps),
    }),
    route({
      method: 'post',
      path: '/applications/:applicationId/withdraw',
      scope: 'applications:write',
      checkHeaders: optionalIdempotencyKey,
      operation: operations.withdraw,
      handle: withdrawApplication(deps),
    }),
    route({
      method: 'get',
      path: '/applications/:applicationId/history',
      scope: 'applications:read',
      operation: operations.readHistory,
      handle: readHistory(deps),
    }),
    route({
      method: 'get',
      path: '/programs',
      scope: 'applications:read',
      query: pageQuery,
      operation: operations.listPrograms,
      handle: listPrograms(deps),
    }),
    route({
      method: 'get',
      path: '/programs/:code',
      scope: 'applications:read',
      operation: operations.readProgram,
      handle: readProgram(deps),
    }),
  ]);
