import { isId, type Answer, type ApiRequest } from '@assistance/service-kit';
import { applicationOf } from './reading/application-of.ts';
import { applicationNotFound, confinedOwner, type Visibility } from './reading/confined-owner.ts';
import type { PrismaClient } from './generated/prisma/client.ts';

export interface ReadDeps {
  prisma: PrismaClient;
  visibility: Visibility;
}

/** GET /applications/{applicationId} */
export function readApplication(deps: ReadDeps) {
  return async (request: ApiRequest): Promise<Answer> => ({
    status: 200,
    body: applicationOf(await findVisible(deps, request)),
  });
}

/** The application that the path names, if this caller may see it; 404 otherwise, also for what is no id at all. */
export async function findVisible({ prisma, visibility }: ReadDeps, { params, caller }: ApiRequest) {
  const applicationId = params['applicationId'] ?? '';
  if (!isId('app', applicationId)) throw applicationNotFound();
  const owner = confinedOwner(visibility, caller);
  const found = await prisma.application.findUnique({
    where: { applicationId, ...(owner === null ? {} : { owner }) },
    omit: { answers: true, dataKey: true, fingerprint: true },
  });
  if (found === null) throw applicationNotFound();
  return found;
}
