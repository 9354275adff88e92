import { z } from 'zod';
import type { Caller } from '../load/caller.ts';
import { programs } from '../load/programs.ts';
import { none, type Claim } from './claim.ts';
import type { Submission } from './read-ledger.ts';

const page = z.object({
  data: z.array(z.object({ applicationId: z.string(), applicantRef: z.string(), status: z.string() })),
  page: z.object({ nextCursor: z.string().nullable() }),
});
export type Listed = z.infer<typeof page>['data'][number];

/** Every application there is, as the interface lists them. */
export async function listApplications(caller: Caller, applicationsUrl: string): Promise<Listed[]> {
  const listed: Listed[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const { body } = await caller.untilAnswered({
      method: 'get',
      url: `${applicationsUrl}/applications?limit=200${query}`,
    });
    const { data, page: next } = page.parse(body);
    listed.push(...data);
    cursor = next.nextCursor;
  }
  return listed;
}

/** Pure. That what was accepted is there, once for each key, and decided as its program says. */
export function proveApplications(submissions: Map<string, Submission>, listed: Listed[]): Claim[] {
  const byRef = Map.groupBy(listed, ({ applicantRef }) => applicantRef);
  const all = [...submissions.values()];
  const accepted = all.filter(({ applicationIds }) => applicationIds.size > 0);
  const ids = new Set(listed.map(({ applicationId }) => applicationId));
  const refs = new Set(all.map(({ applicantRef }) => applicantRef));
  const of = `${all.length} submissions`;
  return [
    none(
      'every submission was answered with 201',
      all
        .filter(({ applicationIds, refusals }) => applicationIds.size === 0 || refusals.length > 0)
        .map(({ applicantRef, refusals }) => `${applicantRef} ${refusals.join(', ')}`),
      of,
    ),
    none(
      'every accepted application exists',
      accepted.flatMap(({ applicationIds }) => [...applicationIds].filter((id) => !ids.has(id))),
      `${accepted.length} applications`,
    ),
    none(
      'one application for one key',
      [
        ...accepted
          .filter(({ applicationIds }) => applicationIds.size > 1)
          .map(({ applicantRef }) => applicantRef),
        ...[...byRef].filter(([, doubled]) => doubled.length > 1).map(([applicantRef]) => applicantRef),
        ...[...byRef.keys()].filter((applicantRef) => !refs.has(applicantRef)),
      ],
      `${listed.length} applications`,
    ),
    none(
      'every one is decided as its program says',
      accepted.flatMap(({ applicantRef, program }) => {
        const status = byRef.get(applicantRef)?.[0]?.status ?? 'missing';
        return status === programs[program]!.finalStatus ? [] : [`${program} is ${status}`];
      }),
      `${accepted.length} applications`,
    ),
  ];
}
