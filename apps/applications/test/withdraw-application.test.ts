import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { application } from '@assistance/types';
import type { Got } from 'got';
import { determined, opened } from './support/case-record.ts';
import { inShort, toldAbout } from './support/outbox.ts';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { get, post, submit, submitted } from './support/submission.ts';

let service: Service;
let client: Got;
beforeAll(async () => {
  service = await startService({ decide: false });
  client = clientOf(service);
});
afterAll(() => service.stop());

const withdraw = (caller: Got, applicationId: string, headers: Record<string, string> = {}) =>
  post(caller, `applications/${applicationId}/withdraw`, { headers });

async function decided(programCode: string, answers?: Record<string, unknown>): Promise<string> {
  const applicationId = await submitted(client, { programCode, answers });
  await service.decideOnce();
  return applicationId;
}

describe('200 with the withdrawn application', () => {
  test('while it is submitted; case management, which knows nothing of it, is told nothing', async () => {
    const before = await submit(client);
    const { applicationId } = before.body;
    const { status, body } = await withdraw(client, applicationId);
    expect(status).toBe(200);
    expect(application.strict().parse(body)).toEqual({ ...before.body, status: 'withdrawn' });
    expect((await get(client, `applications/${applicationId}`)).body).toEqual(body);
    expect(await toldAbout(service.prisma, applicationId)).toEqual([]);
  });

  test('while a person is to review it; case management is told', async () => {
    const applicationId = await decided('TEST-UNDETERMINED');
    expect((await withdraw(client, applicationId)).body.status).toBe('withdrawn');
    expect(inShort(await toldAbout(service.prisma, applicationId))).toEqual([
      'intake review',
      'intake withdrawn',
    ]);
  });

  test('after an early determination; case management, which has a case, is told which', async () => {
    const applicationId = await submitted(client);
    await service.takeCaseMessages([determined(applicationId, 'awarded')]);
    await withdraw(client, applicationId);
    const told = await toldAbout(service.prisma, applicationId);
    expect(inShort(told)).toEqual(['intake withdrawn']);
    expect(told[0]?.data['caseId']).toBe('case-1');
  });

  test('while it is eligible; case management is told which case, and no decision is told', async () => {
    const applicationId = await decided('TEST-PENDING');
    await service.takeCaseMessages([opened(applicationId)]);
    const { body } = await withdraw(client, applicationId);
    expect(body).toMatchObject({ status: 'withdrawn', caseId: 'case-1' });
    const told = await toldAbout(service.prisma, applicationId);
    expect(inShort(told)).toEqual(['intake eligible', 'decided eligible', 'intake withdrawn']);
    expect(told.at(-1)?.data).toMatchObject({ applicationId, caseId: 'case-1', programCode: 'TEST-PENDING' });
  });

  test('is kept in history and audit, with the one who asked', async () => {
    const applicationId = await submitted(client);
    const { headers } = await withdraw(client, applicationId);
    const { body } = await get(client, `applications/${applicationId}/history`);
    expect(body.data.map((each: any) => [each.status, each.reason?.code ?? null])).toEqual([
      ['submitted', null],
      ['withdrawn', 'withdrawn_on_request'],
    ]);
    const audit = await service.prisma.audit.findFirst({
      where: { applicationId, action: 'application.withdrawn' },
    });
    expect(audit).toMatchObject({
      actor: service.ownerOf('partner'),
      requestId: headers['x-request-id'],
      detail: { from: 'submitted', to: 'withdrawn' },
    });
  });

  test('an operation without a body ignores one', async () => {
    const applicationId = await submitted(client);
    const { status } = await post(client, `applications/${applicationId}/withdraw`, {
      headers: { 'content-type': 'text/plain' },
      body: 'please',
    });
    expect(status).toBe(200);
  });

  test('what was withdrawn is not decided any more', async () => {
    const applicationId = await submitted(client);
    await withdraw(client, applicationId);
    await service.decideOnce();
    await service.takeCaseMessages([opened(applicationId), determined(applicationId, 'awarded')]);
    expect((await get(client, `applications/${applicationId}`)).body.status).toBe('withdrawn');
    expect(await toldAbout(service.prisma, applicationId)).toEqual([]);
  });
});

describe('with an Idempotency-Key', () => {
  test('the same 200 can be had again, though the case was opened since', async () => {
    const applicationId = await submitted(client);
    const key = { 'idempotency-key': randomUUID() };
    const first = await withdraw(client, applicationId, key);
    await service.takeCaseMessages([opened(applicationId)]);
    const again = await withdraw(client, applicationId, key);
    expect({ status: again.status, body: again.body }).toEqual({ status: 200, body: first.body });
    expect([first.headers['idempotent-replayed'], again.headers['idempotent-replayed']]).toEqual([
      undefined,
      'true',
    ]);
  });

  test('20 at once get 20 equal answers, and it is withdrawn once', async () => {
    const applicationId = await decided('TEST-PENDING');
    const key = { 'idempotency-key': randomUUID() };
    const answers = await Promise.all(Array.from({ length: 20 }, () => withdraw(client, applicationId, key)));
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    expect(inShort(await toldAbout(service.prisma, applicationId))).toEqual([
      'intake eligible',
      'decided eligible',
      'intake withdrawn',
    ]);
  });

  test.each([
    ['another key', 'partner', randomUUID()],
    ['the same key of another client', 'portal', 'key-1'],
  ])('%s is a second withdrawal: 422', async (_what, clientId, key) => {
    const applicationId = await submitted(client);
    await withdraw(client, applicationId, { 'idempotency-key': 'key-1' });
    const { status, body } = await withdraw(clientOf(service, { clientId }), applicationId, {
      'idempotency-key': key,
    });
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'already_withdrawn' });
  });

  test('one that is ill-formed is 400', async () => {
    const { status, body } = await withdraw(client, await submitted(client), { 'idempotency-key': 'a b' });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'idempotency_key_invalid' });
  });
});

describe('422', () => {
  test('already_withdrawn for a second withdrawal', async () => {
    const applicationId = await submitted(client);
    await withdraw(client, applicationId);
    const { status, body } = await withdraw(client, applicationId);
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'already_withdrawn' });
  });

  test('of 20 at once without a key, one is 200 and the others are 422', async () => {
    const applicationId = await submitted(client);
    const answers = await Promise.all(Array.from({ length: 20 }, () => withdraw(client, applicationId)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'already_withdrawn')).toHaveLength(19);
  });

  test.each([
    ['it is ineligible', 'TEST-INELIGIBLE'],
    ['the program never permits it', 'TEST-NO-WITHDRAWAL'],
  ])('withdrawal_not_permitted when %s', async (_why, programCode) => {
    const applicationId = await decided(programCode);
    const before = await get(client, `applications/${applicationId}`);
    const { status, body } = await withdraw(client, applicationId);
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'withdrawal_not_permitted' });
    expect((await get(client, `applications/${applicationId}`)).body).toEqual(before.body);
  });

  test('withdrawal_not_permitted when it is awarded', async () => {
    const applicationId = await decided('TEST-PENDING');
    await service.takeCaseMessages([opened(applicationId), determined(applicationId, 'awarded')]);
    const { status, body } = await withdraw(client, applicationId);
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'withdrawal_not_permitted' });
    expect(body.message).toContain('submitted, validating, or eligible');
  });

  test('withdrawal_not_permitted when it is eligible and the program permits it only before', async () => {
    const applicationId = await decided('VITAL-RECORDS', {
      ...{ recordType: 'birth', relationship: 'self', certifiedCopies: 2 },
      ...{ identityDocument: 'passport', hasCourtOrder: false },
    });
    expect((await get(client, `applications/${applicationId}`)).body.status).toBe('eligible');
    const { status, body } = await withdraw(client, applicationId);
    expect({ status, code: body.code }).toEqual({ status: 422, code: 'withdrawal_not_permitted' });
    expect(body.message).toContain('submitted or validating');
  });
});

test("404 for a partner client on another's application, and for what does not exist", async () => {
  const applicationId = await submitted(client);
  const partner = clientOf(service, { clientId: 'other-partner' });
  for (const id of [applicationId, 'app_01h455vb4pex5vsknk084sn02q', 'x']) {
    const { status, body } = await withdraw(partner, id);
    expect({ status, code: body.code }).toEqual({ status: 404, code: 'not_found' });
  }
  expect((await get(client, `applications/${applicationId}`)).body.status).toBe('submitted');
});

test('401 without a token, 403 with one that may only read', async () => {
  const applicationId = await submitted(client);
  const anonymous = client.extend({ headers: { authorization: undefined } });
  expect((await withdraw(anonymous, applicationId)).status).toBe(401);
  const reader = clientOf(service, { scopes: ['applications:read'] });
  expect((await withdraw(reader, applicationId)).body.code).toBe('insufficient_scope');
  expect((await get(client, `applications/${applicationId}`)).body.status).toBe('submitted');
});
