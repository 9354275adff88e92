import type { ApplicantStatus, ApplicationStatus } from '@assistance/types';
import type { Answer, ApiRequest } from '@assistance/service-kit';
import { languageHeaders, languageOf } from './reading/language.ts';
import { plainStatus } from './reading/plain-status.ts';
import type { PublishedPrograms } from './programs/published-programs.ts';
import { findVisible, type ReadDeps } from './read-application.ts';

/** GET /applications/{applicationId}/status: what a portal shows or a call center reads out, in the caller's language. */
export function readApplicantStatus(deps: ReadDeps & { published: PublishedPrograms }) {
  return async (request: ApiRequest): Promise<Answer> => {
    const { status, programDigest, programCode } = await findVisible(deps, request);
    const language = languageOf(request.header);
    const { pack } = await deps.published.versionOf({ programDigest, programCode });
    const usual = plainStatus[language][status as ApplicationStatus];
    const own = pack.messages[language].statuses?.[status as ApplicationStatus];
    const body: ApplicantStatus = { ...usual, ...own, status: own?.status ?? usual.status };
    return { status: 200, body, headers: languageHeaders(language) };
  };
}
