import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import got from 'got';
import { topics, type IntakeData } from '@assistance/types';
import { cloudEventOf, newId, structuredRecord } from '@assistance/service-kit';
import { waitUntil } from '@assistance/test-kit';
import { startSandbox, type StartedSandbox } from './start-sandbox.ts';
import { startTopics, type TestTopics } from './start-topics.ts';

interface Message {
  id: string;
  type: string;
  source: string;
  subject: string;
  data: Record<string, unknown>;
}

let kafka: TestTopics;
let sandbox: StartedSandbox;
beforeAll(async () => {
  kafka = await startTopics([topics.intake, topics.cases, topics.caseStatusChanged]);
  sandbox = await startSandbox(kafka.environment);
});
afterAll(async () => {
  await sandbox?.discard();
  await kafka?.close();
});

async function submit(
  programCode: string,
  kind: IntakeData['kind'] = 'eligible',
  applicationId = newId('app'),
) {
  const at = new Date();
  const data: IntakeData = {
    kind,
    applicationId,
    programCode,
    programVersion: 1,
    applicantRef: 'applicant-1',
    declarationId: null,
    channel: 'web',
    caseId: null,
    submittedAt: at.toISOString(),
    requestedAt: at.toISOString(),
  };
  const event = cloudEventOf({
    id: newId('evt'),
    source: 'applications',
    type: 'case_management.intake',
    subject: applicationId,
    time: at,
    data,
  });
  await kafka.publish([structuredRecord(topics.intake.name, event)]);
  return applicationId;
}

/** All that was told about an application, each message once, in the order of its topic. */
function toldOf(applicationId: string) {
  const of = (topic: string) => {
    const about = kafka
      .records(topic)
      .map(({ value }) => JSON.parse(String(value)) as Message)
      .filter(({ data }) => data['applicationId'] === applicationId);
    return [...new Map(about.map((message) => [message.id, message])).values()];
  };
  return { answers: of(topics.cases.name), events: of(topics.caseStatusChanged.name) };
}

const until = (applicationId: string, answers: number, events: number) =>
  waitUntil(
    () => {
      const told = toldOf(applicationId);
      expect([told.answers.length, told.events.length]).toEqual([answers, events]);
      return told;
    },
    { timeoutMs: 15_000 },
  );

const control = (path: string, outcome: string) =>
  sandbox.control.post<{ code?: string }>(path, { json: { outcome } });

describe('an eligible application', () => {
  test('has a case opened and is awarded about two seconds later, and both are told', async () => {
    const startedAt = performance.now();
    const applicationId = await submit('HEATING-AID');
    const opened = await until(applicationId, 1, 1);
    const caseId = String(opened.answers[0]?.data['caseId']);
    expect(caseId).toMatch(/^CASE-/);
    expect(opened.answers[0]).toMatchObject({
      type: 'case.opened',
      source: 'case-management',
      subject: applicationId,
    });
    expect(opened.events[0]).toMatchObject({
      type: 'case.status_changed',
      subject: caseId,
      data: { caseId, applicationId, status: 'opened', previousStatus: null },
    });
    const told = await until(applicationId, 2, 2);
    expect(performance.now() - startedAt).toBeGreaterThan(2_000);
    expect(told.answers[1]).toMatchObject({ type: 'case.determined', data: { caseId, outcome: 'awarded' } });
    expect(told.events[1]).toMatchObject({ data: { status: 'awarded', previousStatus: 'opened' } });
    for (const record of kafka.records(topics.caseStatusChanged.name)) {
      expect(record.key).toBe((JSON.parse(String(record.value)) as Message).subject);
    }
  });

  test('is denied in TEST-DENIED', async () => {
    const told = await until(await submit('TEST-DENIED'), 2, 2);
    expect(told.answers[1]).toMatchObject({ data: { outcome: 'ineligible' } });
    expect(told.events[1]).toMatchObject({ data: { status: 'ineligible', previousStatus: 'opened' } });
  });

  test('gets one case however often it is handed over', async () => {
    const applicationId = await submit('TEST-PENDING');
    await submit('TEST-PENDING', 'eligible', applicationId);
    await submit('TEST-PENDING', 'withdrawn', applicationId);
    await submit('TEST-PENDING', 'eligible', applicationId);
    await submit('TEST-PENDING', 'withdrawn', applicationId);
    await submit('TEST-PENDING', 'review', applicationId);
    const lastIsTaken = async () => (await control(`reviews/${applicationId}/determination`, 'eligible')).ok;
    await waitUntil(lastIsTaken, { timeoutMs: 15_000 });
    const told = await until(applicationId, 2, 2);
    expect(told.events.map(({ data }) => data['status'])).toEqual(['opened', 'closed']);
    expect(told.answers.map(({ type }) => type)).toEqual(['case.opened', 'review.determined']);
  });
});

describe('the determination control', () => {
  test('determines a waiting case once', async () => {
    const applicationId = await submit('TEST-PENDING');
    const { answers } = await until(applicationId, 1, 1);
    const path = `cases/${String(answers[0]?.data['caseId'])}/determination`;
    expect((await control(path, 'awarded')).statusCode).toBe(202);
    const again = await control(path, 'ineligible');
    expect([again.statusCode, again.body.code]).toEqual([409, 'already_determined']);
    const told = await until(applicationId, 2, 2);
    expect(told.answers[1]).toMatchObject({ type: 'case.determined', data: { outcome: 'awarded' } });
    expect(told.events[1]).toMatchObject({ data: { status: 'awarded', previousStatus: 'opened' } });
  });

  test('of a withdrawn application is taken and told, and the case stays closed', async () => {
    const applicationId = await submit('TEST-PENDING');
    await submit('TEST-PENDING', 'withdrawn', applicationId);
    const { answers } = await until(applicationId, 1, 2);
    const path = `cases/${String(answers[0]?.data['caseId'])}/determination`;
    expect((await control(path, 'awarded')).statusCode).toBe(202);
    expect((await control(path, 'awarded')).statusCode).toBe(409);
    const told = await until(applicationId, 2, 2);
    expect(told.events.map(({ data }) => data['status'])).toEqual(['opened', 'closed']);
  });

  test.each([
    ['cases/CASE-0/determination', 'awarded', 404, 'not_found'],
    ['reviews/app_0/determination', 'eligible', 404, 'not_found'],
    ['cases/CASE-0/determination', 'eligible', 400, 'validation_error'],
    ['reviews/app_0/determination', 'awarded', 400, 'validation_error'],
  ])('%s with %s is %i %s', async (path, outcome, status, code) => {
    const { statusCode, body } = await control(path, outcome);
    expect([statusCode, body.code]).toEqual([status, code]);
  });
});

test('a review waits until it is answered, once', async () => {
  const applicationId = await submit('TEST-UNDETERMINED', 'review');
  const path = `reviews/${applicationId}/determination`;
  await waitUntil(async () => (await control(path, 'eligible')).ok);
  const again = await control(path, 'ineligible');
  expect([again.statusCode, again.body.code]).toEqual([409, 'already_determined']);
  const told = await until(applicationId, 1, 0);
  expect(told.answers[0]).toMatchObject({ type: 'review.determined', data: { outcome: 'eligible' } });
});

test('what is no intake is passed over, and holds up nothing', async () => {
  await kafka.publish([
    { topic: topics.intake.name, key: 'x', value: Buffer.from('not json'), headers: {} },
    { topic: topics.intake.name, key: 'x', value: Buffer.from('{"specversion":"1.0"}'), headers: {} },
  ]);
  await until(await submit('HEATING-AID'), 2, 2);
});

test('killed again and again, it loses no case and tells nothing under two ids', async () => {
  const applications: string[] = [];
  for (let kill = 0; kill < 2; kill++) {
    for (let n = 0; n < 15; n++) applications.push(await submit('HEATING-AID'));
    await sandbox.kill();
    for (let n = 0; n < 5; n++) applications.push(await submit('HEATING-AID'));
    await sandbox.restart();
    const last = applications.at(-1) ?? '';
    await waitUntil(() => toldOf(last).answers.length > 0, { timeoutMs: 30_000 });
  }
  for (const applicationId of applications) {
    const told = await until(applicationId, 2, 2);
    expect(told.answers.map(({ type }) => type)).toEqual(['case.opened', 'case.determined']);
    expect(told.events.map(({ data }) => data['status'])).toEqual(['opened', 'awarded']);
    expect(new Set(told.answers.map(({ data }) => data['caseId'])).size).toBe(1);
  }
}, 120_000);

test('it is ready while it reads intakes', async () => {
  await waitUntil(async () => (await got(`${sandbox.opsUrl}/readyz`, { throwHttpErrors: false })).ok);
});
