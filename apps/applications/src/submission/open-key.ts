import { ApiError, type Sql } from '@assistance/service-kit';

type OfApplicant = { programCode: string; applicantRef: string };

/** One applicant in one program; a code has no colon, so no two pairs give the same key. */
export const openKeyOf = ({ programCode, applicantRef }: OfApplicant): string =>
  `${programCode}:${applicantRef}`;

/** 409 while the applicant has an open application for the program. Another's is named to nobody. */
export async function refuseSecondOpen(sql: Sql, submission: OfApplicant, owner: string): Promise<void> {
  const [open] = await sql.$queryRawUnsafe<{ applicationId: string; owner: string }[]>(
    'select application_id as "applicationId", owner from application where open_key = $1',
    openKeyOf(submission),
  );
  if (open === undefined) return;
  const which = open.owner === owner ? `: ${open.applicationId}` : '';
  throw new ApiError(
    'duplicate_application',
    `The applicant has an open application for this program already${which}. ` +
      'A new one can be submitted when that one is decided or withdrawn.',
  );
}
