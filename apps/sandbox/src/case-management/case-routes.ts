import { z } from 'zod';
import { ApiError, notFound, route, type Route } from '@assistance/service-kit';
import { newIds, type CaseManagement } from './create-case-management.ts';
import { idsFrom } from './steps-for-intake.ts';

/** What a caseworker would decide. Answers once the step is in the ledger; its messages follow. */
export function caseRoutes({ ledger, record }: CaseManagement): Route[] {
  return [
    route({
      method: 'post',
      path: '/cases/:caseId/determination',
      scope: 'any',
      body: z.strictObject({ outcome: z.enum(['awarded', 'ineligible']) }),
      handle({ params: { caseId = '' }, body: { outcome } }) {
        const file = ledger.register.case(caseId);
        if (file === undefined) throw notFound('case');
        if (file.determined) throw alreadyDetermined('case');
        const { applicationId, status: previousStatus } = file;
        const at = new Date().toISOString();
        const ids = idsFrom(newIds);
        record([{ step: 'case_determined', caseId, applicationId, at, outcome, previousStatus, ids }]);
        return { status: 202, body: { caseId, outcome } };
      },
    }),
    route({
      method: 'post',
      path: '/reviews/:applicationId/determination',
      scope: 'any',
      body: z.strictObject({ outcome: z.enum(['eligible', 'ineligible']) }),
      handle({ params: { applicationId = '' }, body: { outcome } }) {
        const review = ledger.register.review(applicationId);
        if (review === undefined) throw notFound('review');
        if (review.determined) throw alreadyDetermined('review');
        const at = new Date().toISOString();
        record([{ step: 'review_determined', applicationId, at, outcome, ids: idsFrom(newIds) }]);
        return { status: 202, body: { applicationId, outcome } };
      },
    }),
  ];
}

const alreadyDetermined = (what: string): ApiError =>
  new ApiError('already_determined', `The ${what} was determined before; that stands.`);
