import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { applicationHistory } from '@assistance/types';
import type { Got } from 'got';
import { determined, opened, reviewed } from './support/case-record.ts';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { get, submitted } from './support/submission.ts';

let service: Service;
let client: Got;
beforeAll(async () => {
  service = await startService({ decide: false });
  client = clientOf(service);
});
afterAll(() => service.stop());

const historyOf = async (applicationId: string, caller = client, headers = {}) =>
  (await get(caller, `applications/${applicationId}/history`, headers)).body;

async function databaseTime(): Promise<string> {
  const [row] = await service.prisma.$queryRaw<{ now: Date }[]>`select clock_timestamp() as now`;
  return row!.now.toISOString();
}

const inShort = (history: any) => history.data.map((each: any) => [each.status, each.reason?.code ?? null]);

test('shows each status with its time and its reason, oldest first', async () => {
  const applicationId = await submitted(client, { programCode: 'TEST-PENDING' });
  const afterSubmission = await databaseTime();
  await service.decideOnce();
  const afterDecision = await databaseTime();
  await service.takeCaseMessages([opened(applicationId), determined(applicationId, 'awarded')]);
  const afterAward = await databaseTime();
  const history = await historyOf(applicationId);
  expect(applicationHistory.strict().parse(history)).toBeDefined();
  expect(inShort(history)).toEqual([
    ['submitted', null],
    ['validating', null],
    ['eligible', 'requirements_met'],
    ['awarded', 'case_determined'],
  ]);
  const [submittedAt, validatingAt, eligibleAt, awardedAt] = history.data.map((each: any) => each.at);
  expect(submittedAt).toBe((await get(client, `applications/${applicationId}`)).body.submittedAt);
  const moments = [
    ...[submittedAt, afterSubmission, validatingAt, eligibleAt],
    ...[afterDecision, awardedAt, afterAward],
  ];
  expect(moments).toEqual([...moments].sort());
});

test('names the rule that was not met, with its source, in the language of the caller', async () => {
  const answers = { householdSize: 2, monthlyIncomeCents: 250_001 };
  const applicationId = await submitted(client, { programCode: 'TEST-SCHEMA', answers });
  await service.decideOnce();
  const reasonIn = async (language: string) =>
    (await historyOf(applicationId, client, { 'accept-language': language })).data.at(-1).reason;
  expect(await reasonIn('en')).toEqual({
    code: 'income_within_limit',
    message: 'The monthly income must be at most $2,500.00.',
    citation: 'Sandbox, test program TEST-SCHEMA',
  });
  expect((await reasonIn('es')).message).toBe('El ingreso mensual debe ser de $2,500.00 como máximo.');
});

test('says of what is under review why a person must look, and what the person decided', async () => {
  const applicationId = await submitted(client, { programCode: 'TEST-UNDETERMINED' });
  await service.decideOnce();
  expect(inShort(await historyOf(applicationId))).toEqual([
    ['submitted', null],
    ['validating', 'review_needed'],
  ]);
  await service.takeCaseMessages([reviewed(applicationId, 'ineligible')]);
  expect(inShort(await historyOf(applicationId)).at(-1)).toEqual(['ineligible', 'reviewed']);
});

test('an operator reads the history of any client, and each such read is audited', async () => {
  const applicationId = await submitted(client);
  const operator = clientOf(service, { clientId: 'operator' });
  const { status, headers } = await get(operator, `applications/${applicationId}/history`);
  expect(status).toBe(200);
  await historyOf(applicationId);
  const audit = await service.prisma.audit.findMany({
    where: { applicationId, action: 'history.read_by_operator' },
  });
  expect(audit).toMatchObject([{ actor: service.ownerOf('operator'), requestId: headers['x-request-id'] }]);
});

test('an operator that is confined as a partner still reads any history, but no application', async () => {
  const both = await service.startInstance({
    visibility: {
      partners: new Set([service.ownerOf('operator')]),
      operators: new Set([service.ownerOf('operator')]),
    },
  });
  const operator = clientOf({ ...service, baseUrl: both.baseUrl }, { clientId: 'operator' });
  const applicationId = await submitted(client);
  expect((await get(operator, `applications/${applicationId}/history`)).status).toBe(200);
  expect((await get(operator, `applications/${applicationId}`)).status).toBe(404);
});
