import { z } from 'zod';
import { applicationStatus, applicationStatuses, programCode } from '@assistance/types';
import {
  invalidCursor,
  pageQuery,
  type Answer,
  type ApiRequest,
  type CursorCodec,
  type Sql,
} from '@assistance/service-kit';
import { applicationOf, type ApplicationColumns } from './reading/application-of.ts';
import { confinedOwner, type Visibility } from './reading/confined-owner.ts';
import { selectApplications } from './reading/select-applications.ts';

export const applicationsQuery = pageQuery.extend({
  programCode: programCode.optional(),
  status: applicationStatus.optional(),
});

export interface ListDeps {
  sql: Sql;
  cursors: CursorCodec;
  visibility: Visibility;
}

const position = z.tuple([z.iso.datetime(), z.string()]);

/** GET /applications: newest first. A cursor holds the place after its page's last application, for these filters alone. */
export function listApplications({ sql, cursors, visibility }: ListDeps) {
  return async ({
    caller,
    query,
  }: ApiRequest<undefined, z.output<typeof applicationsQuery>>): Promise<Answer> => {
    const { limit } = query;
    const filters = { programCode: query.programCode ?? null, owner: confinedOwner(visibility, caller) };
    const binding = ['applications', caller.owner, filters.owner, filters.programCode, query.status ?? null];
    const rows = await selectApplications(sql, {
      ...filters,
      statuses: query.status === undefined ? applicationStatuses : [query.status],
      after: query.cursor === undefined ? null : after(cursors.decode(query.cursor, binding)),
      limit: limit + 1,
    });
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    const nextCursor =
      rows.length > limit && last !== undefined ? cursors.encode(placeOf(last), binding) : null;
    return { status: 200, body: { data: page.map(applicationOf), page: { nextCursor, limit } } };
  };
}

const placeOf = ({ submittedAt, applicationId }: ApplicationColumns): z.infer<typeof position> => [
  submittedAt.toISOString(),
  applicationId,
];

function after(decoded: unknown): { submittedAt: Date; applicationId: string } {
  const parsed = position.safeParse(decoded);
  if (!parsed.success) throw invalidCursor();
  const [submittedAt, applicationId] = parsed.data;
  return { submittedAt: new Date(submittedAt), applicationId };
}
