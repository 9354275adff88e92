import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createKeyRing } from '@assistance/service-kit';
import { waitUntil } from '@assistance/test-kit';
import type { Got } from 'got';
import { claimDue } from '../src/deciding/claim-due.ts';
import { loadPrograms } from '../src/programs/load-programs.ts';
import { reviewed } from './support/case-record.ts';
import { inShort, toldAbout } from './support/outbox.ts';
import {
  clientOf,
  programsFolder,
  startService,
  type Instance,
  type Service,
} from './support/start-service.ts';
import { get, post, submit, submitted } from './support/submission.ts';

let service: Service;
let client: Got;
beforeAll(async () => {
  service = await startService({ decide: false });
  client = clientOf(service);
});
afterAll(() => service.stop());
afterEach(async () => {
  await service.prisma.application.updateMany({ data: { workDueAt: null } });
});

const statusOf = async (applicationId: string): Promise<string> =>
  (await get(client, `applications/${applicationId}`)).body.status;

const rowOf = (applicationId: string) =>
  service.prisma.application.findUniqueOrThrow({ where: { applicationId } });

/** As if the lease of whoever claimed it had ended. */
const endLease = (applicationId: string) =>
  service.prisma.application.update({ where: { applicationId }, data: { workDueAt: new Date() } });

describe('what the programs decide', () => {
  test.each([
    ['any other code', 'ANY-PROGRAM', undefined, 'eligible', ['intake eligible', 'decided eligible']],
    ['TEST-DENIED', 'TEST-DENIED', undefined, 'eligible', ['intake eligible', 'decided eligible']],
    ['TEST-PENDING', 'TEST-PENDING', { any: 'thing' }, 'eligible', ['intake eligible', 'decided eligible']],
    [
      'TEST-NO-WITHDRAWAL',
      'TEST-NO-WITHDRAWAL',
      undefined,
      'eligible',
      ['intake eligible', 'decided eligible'],
    ],
    ['TEST-ONE-OPEN', 'TEST-ONE-OPEN', undefined, 'eligible', ['intake eligible', 'decided eligible']],
    ['TEST-INELIGIBLE', 'TEST-INELIGIBLE', { any: 'thing' }, 'ineligible', ['decided ineligible']],
    ['TEST-UNDETERMINED', 'TEST-UNDETERMINED', { any: 'thing' }, 'validating', ['intake review']],
    [
      'TEST-SCHEMA within its limit',
      'TEST-SCHEMA',
      { householdSize: 20, monthlyIncomeCents: 250_000 },
      'eligible',
      ['intake eligible', 'decided eligible'],
    ],
    [
      'TEST-SCHEMA above its limit',
      'TEST-SCHEMA',
      { householdSize: 1, monthlyIncomeCents: 250_001 },
      'ineligible',
      ['decided ineligible'],
    ],
  ])('%s', async (_what, programCode, answers, status, told) => {
    const applicationId = await submitted(client, { programCode, answers });
    await service.decideOnce();
    expect(await statusOf(applicationId)).toBe(status);
    expect(inShort(await toldAbout(service.prisma, applicationId))).toEqual(told);
  });

  test('TEST-SLOW stays submitted for 30 s, then goes on', async () => {
    const applicationId = await submitted(client, { programCode: 'TEST-SLOW' });
    await service.decideOnce();
    expect(await statusOf(applicationId)).toBe('submitted');
    const { submittedAt, workDueAt } = await rowOf(applicationId);
    expect(workDueAt?.getTime()).toBe(submittedAt.getTime() + 30_000);
    await endLease(applicationId);
    await service.decideOnce();
    expect(await statusOf(applicationId)).toBe('eligible');
  });
});

test('what is told says who, which program, which version, and nothing of the answers', async () => {
  const answers = { householdSize: 4, monthlyIncomeCents: 123_457 };
  const { body } = await submit(client, {
    body: {
      programCode: 'TEST-SCHEMA',
      answers,
      applicantRef: 'ref-9',
      declarationId: 'dec-9',
      channel: 'mobile',
    },
  });
  await service.decideOnce();
  const { applicationId, submittedAt } = body;
  const told = await toldAbout(service.prisma, applicationId);
  expect(told).toEqual([
    {
      topic: 'assistance.case-management.intake.v1',
      type: 'case_management.intake',
      data: {
        kind: 'eligible',
        applicationId,
        programCode: 'TEST-SCHEMA',
        programVersion: 1,
        applicantRef: 'ref-9',
        declarationId: 'dec-9',
        channel: 'mobile',
        caseId: null,
        submittedAt,
        requestedAt: expect.any(String),
      },
    },
    {
      topic: 'assistance.events.application-decided.v1',
      type: 'application.decided',
      data: {
        applicationId,
        programCode: 'TEST-SCHEMA',
        decision: 'eligible',
        decidedAt: expect.any(String),
        caseId: null,
      },
    },
  ]);
  expect(JSON.stringify(told)).not.toContain('123457');
});

test('a review waits for its answer, and the loop leaves it alone', async () => {
  const applicationId = await submitted(client, { programCode: 'TEST-UNDETERMINED' });
  await service.decideOnce();
  expect((await rowOf(applicationId)).workDueAt).toBeNull();
  expect(await service.decideOnce()).toBe(false);
  await service.takeCaseMessages([reviewed(applicationId, 'eligible')]);
  expect(await statusOf(applicationId)).toBe('eligible');
  expect(inShort(await toldAbout(service.prisma, applicationId))).toEqual([
    'intake review',
    'intake eligible',
    'decided eligible',
  ]);
});

test('each step is in the audit, with from and to', async () => {
  const applicationId = await submitted(client, { programCode: 'TEST-INELIGIBLE' });
  await service.decideOnce();
  const audit = await service.prisma.audit.findMany({ where: { applicationId }, orderBy: { id: 'asc' } });
  expect(audit.map(({ action, actor, detail }) => [action, actor, detail])).toEqual([
    ['application.submitted', service.ownerOf('partner'), expect.anything()],
    ['application.validating', 'applications', { from: 'submitted', to: 'validating' }],
    [
      'application.decided',
      'applications',
      { from: 'validating', to: 'ineligible', reason: 'nobody_qualifies' },
    ],
  ]);
});

describe('a crash', () => {
  test('after the claim leaves the application to whoever comes when the lease has ended', async () => {
    const applicationId = await submitted(client);
    const claimed = await claimDue(service.prisma, 10);
    expect(claimed.map((each) => each.applicationId)).toContain(applicationId);
    expect(await statusOf(applicationId)).toBe('validating');
    await service.decideOnce();
    expect(await statusOf(applicationId)).toBe('validating');
    await endLease(applicationId);
    await service.decideOnce();
    expect(await statusOf(applicationId)).toBe('eligible');
    const history = (await get(client, `applications/${applicationId}/history`)).body.data;
    expect(history.map((each: any) => each.status)).toEqual(['submitted', 'validating', 'eligible']);
  });

  test('and a late recorder make one decision: whoever comes second changes nothing', async () => {
    const applicationId = await submitted(client);
    const [first] = await Promise.all([service.decideOnce(), service.decideOnce(), service.decideOnce()]);
    expect(first).toBe(false);
    expect(await statusOf(applicationId)).toBe('eligible');
    expect(inShort(await toldAbout(service.prisma, applicationId))).toEqual([
      'intake eligible',
      'decided eligible',
    ]);
  });
});

test('a withdrawal between the claim and the decision stands', async () => {
  const applicationId = await submitted(client);
  await claimDue(service.prisma, 10);
  expect((await post(client, `applications/${applicationId}/withdraw`)).status).toBe(200);
  await endLease(applicationId);
  await service.decideOnce();
  expect(await statusOf(applicationId)).toBe('withdrawn');
  expect(await toldAbout(service.prisma, applicationId)).toEqual([]);
});

test('what one instance is claiming, another passes over without waiting', async () => {
  const ids = [await submitted(client), await submitted(client)];
  await service.prisma.$transaction(async (transaction) => {
    const first = await claimDue(transaction, 1);
    const second = await claimDue(service.prisma, 10);
    expect([...first, ...second].map(({ applicationId }) => applicationId).sort()).toEqual(ids.sort());
  });
});

test('two instances decide a hundred applications once each', async () => {
  const second = await service.startInstance();
  const ids = await Promise.all(Array.from({ length: 100 }, () => submitted(client)));
  const work = async (instance: Instance): Promise<void> => {
    while (await instance.decideOnce());
  };
  await Promise.all([work(service), work(second), work(service), work(second)]);
  await waitUntil(async () => {
    await work(service);
    const left = await service.prisma.application.count({
      where: { applicationId: { in: ids }, status: { not: 'eligible' } },
    });
    return left === 0;
  });
  const told = await service.prisma.outbox.count({ where: { key: { in: ids } } });
  expect(told).toBe(200);
});

test('an application that cannot be judged stays, and holds up no other', async () => {
  const sealed = await submitted(client, { answers: { a: 1 } });
  const other = await submitted(client);
  const withoutKey = await service.startInstance({
    keyRing: createKeyRing({ current: 'k9', keys: { k9: Buffer.alloc(32, 9).toString('base64') } }),
  });
  await withoutKey.decideOnce();
  expect([await statusOf(sealed), await statusOf(other)]).toEqual(['validating', 'eligible']);
  expect(await toldAbout(service.prisma, sealed)).toEqual([]);
  await endLease(sealed);
  await service.decideOnce();
  expect(await statusOf(sealed)).toBe('eligible');
});

test('the version that an application was taken under decides, also where it is not offered any more', async () => {
  const answers = { householdSize: 2, monthlyIncomeCents: 250_001 };
  const applicationId = await submitted(client, { programCode: 'TEST-SCHEMA', answers });
  const open = await submitted(client);
  const later = await service.startInstance({ programs: await loadPrograms(programsFolder, []) });
  await later.decideOnce();
  expect([await statusOf(applicationId), await statusOf(open)]).toEqual(['ineligible', 'eligible']);
  const caller = clientOf({ ...service, baseUrl: later.baseUrl });
  expect((await get(caller, `applications/${applicationId}/status`)).body.status).toBe('Not eligible');
  expect((await post(caller, `applications/${open}/withdraw`)).status).toBe(200);
});
