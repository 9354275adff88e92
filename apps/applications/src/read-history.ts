import type { ApplicationHistory, ApplicationStatus } from '@assistance/types';
import type { Answer, ApiRequest } from '@assistance/service-kit';
import { languageHeaders, languageOf } from './reading/language.ts';
import { findVisible, type ReadDeps } from './read-application.ts';
import type { Reason } from './status/apply-transitions.ts';

/** GET /applications/{applicationId}/history: each status it has had, oldest first, and why. */
export function readHistory({ prisma, visibility }: ReadDeps) {
  return async (request: ApiRequest): Promise<Answer> => {
    const { caller, requestId } = request;
    const asOperator = visibility.operators.has(caller.owner);
    const seen = asOperator ? { ...visibility, partners: NOBODY } : visibility;
    const { applicationId } = await findVisible({ prisma, visibility: seen }, request);
    if (asOperator) {
      request.note({ asOperator, applicationId });
      await prisma.audit.create({
        data: {
          actor: caller.owner,
          action: 'history.read_by_operator',
          applicationId,
          requestId,
          detail: {},
        },
      });
    }
    const rows = await prisma.applicationHistory.findMany({
      where: { applicationId },
      orderBy: { version: 'asc' },
    });
    const language = languageOf(request.header);
    const body: ApplicationHistory = {
      data: rows.map(({ status, at, reason }) => ({
        status: status as ApplicationStatus,
        at: at.toISOString(),
        reason: reasonIn(language, reason as unknown as Reason | null),
      })),
    };
    return { status: 200, body, headers: languageHeaders(language) };
  };
}

const NOBODY: ReadonlySet<string> = new Set();

function reasonIn(
  language: 'en' | 'es',
  reason: Reason | null,
): ApplicationHistory['data'][number]['reason'] {
  if (reason === null) return null;
  const { code, message, citation } = reason;
  return { code, message: message[language], ...(citation === undefined ? {} : { citation }) };
}
