import type { Sql } from '@assistance/service-kit';

/** One applicant in one program; a code has no colon, so no two pairs give the same key. */
export const openKeyOf = ({
  programCode,
  applicantRef,
}: {
  programCode: string;
  applicantRef: string;
}): string => `${programCode}:${applicantRef}`;

/** The open application that stands in the way of another, if it is still there. */
export async function findOpenApplication(
  sql: Sql,
  openKey: string,
): Promise<{ applicationId: string; owner: string } | undefined> {
  const [row] = await sql.$queryRawUnsafe<{ applicationId: string; owner: string }[]>(
    'select application_id as "applicationId", owner from application where open_key = $1',
    openKey,
  );
  return row;
}
