import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { applicationStatuses } from '@assistance/types';
import type { Got } from 'got';
import { selectApplications, type ApplicationFilters } from '../src/reading/select-applications.ts';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { get, submit, submittedAnd } from './support/submission.ts';

let service: Service;
let client: Got;
let partner: Got;
/** Newest first. */
const all: { applicationId: string; programCode: string; status: string }[] = [];
const ofPartner: string[] = [];

beforeAll(async () => {
  service = await startService();
  client = clientOf(service);
  partner = clientOf(service, { clientId: 'other-partner' });
  for (let n = 0; n < 12; n++) {
    const programCode = n % 3 === 0 ? 'TEST-INELIGIBLE' : 'TEST-PENDING';
    const status = n % 3 === 0 ? 'ineligible' : 'eligible';
    const caller = n % 4 === 0 ? partner : client;
    const applicationId = await submittedAnd(caller, status, { programCode });
    all.unshift({ applicationId, programCode, status });
    if (caller === partner) ofPartner.unshift(applicationId);
  }
});
afterAll(() => service.stop());

const idsOf = (body: any): string[] => body.data.map((each: any) => each.applicationId);

async function readThrough(caller: Got, query: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? '' : `&cursor=${cursor}`;
    const { status, body } = await get(caller, `applications?limit=${limit}${query}${more}`);
    expect({ status, limit: body.page?.limit }).toEqual({ status: 200, limit });
    expect(body.data.length).toBeLessThanOrEqual(limit);
    ids.push(...idsOf(body));
    cursor = body.page.nextCursor;
  } while (cursor !== null);
  return ids;
}

describe('200', () => {
  test('lists every application, newest first, with its eight fields', async () => {
    const { status, body } = await get(client, 'applications');
    expect(status).toBe(200);
    expect(idsOf(body)).toEqual(all.map(({ applicationId }) => applicationId));
    expect(Object.keys(body.data[0]).sort()).toEqual([
      'applicantRef',
      'applicationId',
      'caseId',
      'channel',
      'declarationId',
      'programCode',
      'status',
      'submittedAt',
    ]);
    expect(body.page).toEqual({ nextCursor: null, limit: 50 });
  });

  test.each([1, 3, 5, 12, 200])('pages of %i show each application once', async (limit) => {
    expect(await readThrough(client, '', limit)).toEqual(all.map(({ applicationId }) => applicationId));
  });

  test.each([
    ['status=ineligible', (each: (typeof all)[number]) => each.status === 'ineligible'],
    ['programCode=TEST-PENDING', (each: (typeof all)[number]) => each.programCode === 'TEST-PENDING'],
    [
      'programCode=TEST-PENDING&status=eligible',
      (each: (typeof all)[number]) => each.programCode === 'TEST-PENDING' && each.status === 'eligible',
    ],
    ['programCode=TEST-PENDING&status=awarded', () => false],
    ['programCode=NOBODY-HAS-IT', () => false],
  ])('%s filters, page by page', async (query, matches) => {
    const expected = all.filter(matches).map(({ applicationId }) => applicationId);
    expect(await readThrough(client, `&${query}`, 2)).toEqual(expected);
  });

  test('a limit above the maximum is applied as the maximum', async () => {
    const { body } = await get(client, 'applications?limit=100000');
    expect(body.page).toEqual({ nextCursor: null, limit: 200 });
  });

  test('a partner client sees only what it submitted, whatever it filters', async () => {
    expect(await readThrough(partner, '', 2)).toEqual(ofPartner);
    for (const query of [
      'status=ineligible',
      'programCode=TEST-PENDING',
      'programCode=TEST-PENDING&status=eligible',
    ]) {
      const seen = await readThrough(partner, `&${query}`, 1);
      const matching = await readThrough(client, `&${query}`, 200);
      expect(seen).toEqual(matching.filter((id) => ofPartner.includes(id)));
    }
  });

  test('what is submitted between two pages does not shift the second', async () => {
    const first = await get(client, 'applications?limit=5&programCode=TEST-PENDING');
    await submit(client, { body: { programCode: 'TEST-PENDING' } });
    const second = await get(
      client,
      `applications?limit=5&programCode=TEST-PENDING&cursor=${first.body.page.nextCursor}`,
    );
    const expected = all.filter(({ programCode }) => programCode === 'TEST-PENDING').slice(0, 8);
    expect([...idsOf(first.body), ...idsOf(second.body)]).toEqual(expected.map((each) => each.applicationId));
  });
});

describe('400', () => {
  const cursorOf = async (caller: Got, query: string): Promise<string> =>
    (await get(caller, `applications?limit=1${query}`)).body.page.nextCursor;

  test.each([
    ['another status', '&status=eligible', '&status=ineligible'],
    ['no filter', '&status=eligible', ''],
    ['a filter more', '', '&programCode=TEST-PENDING'],
  ])('invalid_cursor for a cursor of %s', async (_what, made, used) => {
    const cursor = await cursorOf(client, made);
    const { status, body } = await get(client, `applications?cursor=${cursor}${used}`);
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_cursor' });
  });

  test('invalid_cursor for the cursor of another client', async () => {
    const cursor = await cursorOf(client, '');
    const { body } = await get(clientOf(service, { clientId: 'portal' }), `applications?cursor=${cursor}`);
    expect(body.code).toBe('invalid_cursor');
  });

  test('invalid_cursor for the cursor of another list', async () => {
    const cursor = (await get(client, 'programs?limit=1')).body.page.nextCursor;
    expect((await get(client, `applications?cursor=${cursor}`)).body.code).toBe('invalid_cursor');
  });

  test('invalid_cursor for one that was cut, changed in any byte, or made up', async () => {
    const cursor = await cursorOf(client, '');
    const changed = Array.from({ length: cursor.length }, (_, n) => {
      const other = cursor[n] === 'A' ? 'B' : 'A';
      return cursor.slice(0, n) + other + cursor.slice(n + 1);
    });
    for (const bad of [cursor.slice(0, -1), `${cursor}A`, 'x', `${cursor}=`, ...changed]) {
      const { status, body } = await get(client, `applications?cursor=${encodeURIComponent(bad)}`);
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'invalid_cursor' });
    }
  });

  test('a cursor is not bound to its limit', async () => {
    const cursor = await cursorOf(client, '');
    expect((await get(client, `applications?cursor=${cursor}&limit=7`)).status).toBe(200);
  });

  test.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=-1'],
    ['limit', 'limit=1.5'],
    ['limit', 'limit=ten'],
    ['limit', 'limit='],
    ['limit', 'limit=1&limit=2'],
    ['status', 'status=decided'],
    ['status', 'status='],
    ['programCode', 'programCode=a%20b'],
    ['programcode', 'programcode=TEST-PENDING'],
  ])('validation_error naming %s for ?%s', async (parameter, query) => {
    const { status, body } = await get(client, `applications?${query}`);
    expect({ status, code: body.code, parameters: body.details.map((each: any) => each.parameter) }).toEqual({
      status: 400,
      code: 'validation_error',
      parameters: [parameter],
    });
  });

  test('invalid_cursor for an empty cursor', async () => {
    expect((await get(client, 'applications?cursor=')).body.code).toBe('invalid_cursor');
  });
});

test('401 without a token', async () => {
  const { status, body } = await get(
    client.extend({ headers: { authorization: undefined } }),
    'applications',
  );
  expect({ status, code: body.code }).toEqual({ status: 401, code: 'token_missing' });
});

test('403 with a token that may only write, also with a bad query', async () => {
  const writer = clientOf(service, { scopes: ['applications:write'] });
  const { status, body } = await get(writer, 'applications?limit=0');
  expect({ status, code: body.code }).toEqual({ status: 403, code: 'insufficient_scope' });
});

describe('the statement reads no more than it shows, status by status', () => {
  beforeAll(async () => {
    await service.prisma.$executeRawUnsafe(
      `insert into application (application_id, owner, idempotency_key, fingerprint, fingerprint_key_id, program_code,
         program_version, program_digest, channel, applicant_ref, submitted_at, status)
       select 'app_plan' || n, 'owner-' || n % 7, n::text, '', 'i1', 'PROGRAM-' || n % 5, 1, '', 'web', 'ref',
         now() - n * interval '1 second', (array['submitted','validating','eligible','ineligible','awarded','withdrawn'])[1 + n % 6]
       from generate_series(1, 30000) n`,
    );
    await service.prisma.$executeRawUnsafe('analyze application');
  });

  const after = { submittedAt: new Date(Date.now() - 15_000_000), applicationId: 'app_plan' };
  test.each<[string, Partial<ApplicationFilters>]>([
    ['no filter', {}],
    ['a status', { statuses: ['awarded'] }],
    ['a program', { programCode: 'PROGRAM-3' }],
    ['a program and a status', { programCode: 'PROGRAM-3', statuses: ['awarded'] }],
    ['an owner', { owner: 'owner-3' }],
    ['an owner and a status', { owner: 'owner-3', statuses: ['awarded'] }],
    ['an owner and a program', { owner: 'owner-3', programCode: 'PROGRAM-3' }],
    ['all three', { owner: 'owner-3', programCode: 'PROGRAM-3', statuses: ['awarded'] }],
  ])('with %s, at any depth', async (_what, changes) => {
    for (const place of [null, after]) {
      const filters = {
        programCode: null,
        owner: null,
        statuses: applicationStatuses,
        after: place,
        limit: 51,
        ...changes,
      };
      const plan = await planOf(filters);
      const scans = nodesOf(plan).filter((node) => node['Relation Name'] === 'application');
      expect(scans.map((node) => node['Node Type'])).toEqual(['Index Scan']);
      for (const scan of scans) {
        expect(scan['Actual Rows']).toBeLessThanOrEqual(51);
        expect(scan['Rows Removed by Filter'] ?? 0).toBe(0);
      }
    }
  });

  async function planOf(filters: ApplicationFilters): Promise<any> {
    let plan: any;
    await selectApplications(
      {
        $queryRawUnsafe: async (sql: string, ...parameters: unknown[]) => {
          const rows = await service.prisma.$queryRawUnsafe<any[]>(
            `explain (analyze, format json) ${sql}`,
            ...parameters,
          );
          plan = Object.values(rows[0])[0];
          return [] as never;
        },
        $executeRawUnsafe: () => Promise.reject(new Error('not asked for')),
      },
      filters,
    );
    return plan[0]['Plan'];
  }

  const nodesOf = (node: any): any[] => [node, ...(node['Plans'] ?? []).flatMap(nodesOf)];
});
