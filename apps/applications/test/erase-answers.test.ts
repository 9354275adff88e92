import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runCommand, staySilent } from '@assistance/test-kit';
import type { Got } from 'got';
import { eraseAnswers } from '../src/retention/erase-answers.ts';
import { determined } from './support/case-record.ts';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { get, post, submit, submissionBody, submitted } from './support/submission.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));
const answers = { what: 'the applicant told' };

let service: Service;
let client: Got;
beforeAll(async () => {
  service = await startService({ decide: false });
  client = clientOf(service);
});
afterAll(() => service.stop());

const rowOf = (applicationId: string) =>
  service.prisma.application.findUniqueOrThrow({ where: { applicationId } });
const closeBefore = (applicationId: string, days: number) =>
  service.prisma.application.update({
    where: { applicationId, closedAt: { not: null } },
    data: { closedAt: new Date(Date.now() - days * 86_400_000) },
  });
const keepsAnswers = async (applicationId: string): Promise<boolean> => {
  const { answers: kept, dataKey } = await rowOf(applicationId);
  expect(kept === null).toBe(dataKey === null);
  return kept !== null;
};

async function withdrawn(daysAgo: number): Promise<string> {
  const applicationId = await submitted(client, { answers });
  await post(client, `applications/${applicationId}/withdraw`);
  await closeBefore(applicationId, daysAgo);
  return applicationId;
}

test('an application has the time of its closing from each of the ends it can come to, and not before', async () => {
  const [rejected, awarded, gone, open] = await Promise.all([
    submitted(client, { programCode: 'TEST-INELIGIBLE' }),
    submitted(client, { programCode: 'TEST-PENDING' }),
    submitted(client, { programCode: 'TEST-PENDING' }),
    submitted(client, { programCode: 'TEST-PENDING' }),
  ]);
  await service.decideOnce();
  await service.takeCaseMessages([determined(awarded, 'awarded')]);
  await post(client, `applications/${gone}/withdraw`);
  for (const applicationId of [rejected, awarded, gone]) {
    const { closedAt } = await rowOf(applicationId);
    const { body } = await get(client, `applications/${applicationId}/history`);
    expect(closedAt?.toISOString()).toBe(body.data.at(-1).at);
  }
  expect((await rowOf(open)).closedAt).toBeNull();
});

test('only the answers of what was closed longer ago go; the application, its history and its key go on', async () => {
  const key = 'a-key-that-is-kept';
  const body = submissionBody({ answers });
  const first = await submit(client, { key, body });
  const { applicationId } = first.body;
  await post(client, `applications/${applicationId}/withdraw`);
  await closeBefore(applicationId, 31);
  const younger = await withdrawn(29);
  const open = await submitted(client, { answers });
  await service.prisma.application.update({
    where: { applicationId: open },
    data: { submittedAt: new Date('2020-01-01') },
  });
  const paths = ['', '/status', '/history'].map((path) => `applications/${applicationId}${path}`);
  const read = () => Promise.all(paths.map(async (path) => (await get(client, path)).body));
  const before = await read();

  expect(await eraseAnswers(service.prisma, 30)).toBe(1);
  expect(await Promise.all([applicationId, younger, open].map(keepsAnswers))).toEqual([false, true, true]);
  expect(await read()).toEqual(before);
  const repeat = await submit(client, { key, body });
  expect([repeat.status, repeat.body]).toEqual([201, first.body]);
  const other = await submit(client, { key, body: { ...body, answers: { what: 'something else' } } });
  expect([other.status, other.body.code]).toEqual([409, 'idempotency_key_reused']);

  expect(await eraseAnswers(service.prisma, 30)).toBe(0);
  expect(await service.prisma.audit.findMany({ where: { action: 'answers.erased' } })).toMatchObject([
    { actor: 'operator-command', applicationId, detail: { olderThanDays: 30 } },
  ]);
});

test('more than one portion, by two at once, each once; what another holds is left for the next time', async () => {
  const held = await withdrawn(400);
  await service.prisma.$executeRawUnsafe(
    `insert into application
     select (jsonb_populate_record(a, jsonb_build_object(
       'application_id', 'app_' || n, 'idempotency_key', 'portion-' || n, 'closed_at', a.closed_at + n * interval '1 s'))).*
     from application a, generate_series(1, 1200) n where a.application_id = $1`,
    held,
  );
  await service.prisma.$transaction(
    async (other) => {
      await staySilent(other);
      await other.$executeRawUnsafe(`select 1 from application where application_id = $1 for update`, held);
      const erased = await Promise.all([1, 2].map(() => eraseAnswers(service.prisma, 300)));
      expect(erased.reduce((sum, each) => sum + each, 0)).toBe(1_200);
    },
    { timeout: 60_000 },
  );
  expect(await keepsAnswers(held)).toBe(true);
  const audited = `select count(distinct application_id)::int as n, count(*)::int as all from audit where detail = '{"olderThanDays": 300}'`;
  expect(await service.prisma.$queryRawUnsafe(audited)).toEqual([{ n: 1_200, all: 1_200 }]);
  expect(await eraseAnswers(service.prisma, 300)).toBe(1);
});

test('as a command: it counts first, erases then, and wants to be told how old', async () => {
  const applicationId = await withdrawn(900);
  const erase = (...args: string[]) =>
    runCommand({
      folder,
      command: ['erase-answers', ...args],
      environment: { DATABASE_URL: service.databaseUrl },
    });
  const [dry, unsaid, odd] = await Promise.all([
    erase('--older-than-days', '800', '--dry-run'),
    erase(),
    erase('--older-than-days', '-1'),
  ]);
  expect(dry).toEqual({
    code: 0,
    output: 'The answers of 1 applications that were closed more than 800 days ago would be erased.\n',
  });
  expect([unsaid.code, odd.code]).toEqual([1, 1]);
  expect(unsaid.output).toMatch(/^Say how old: --older-than-days /);
  expect(await keepsAnswers(applicationId)).toBe(true);
  expect(await erase('--older-than-days', '800')).toEqual({
    code: 0,
    output: 'The answers of 1 applications that were closed more than 800 days ago are erased.\n',
  });
  expect(await keepsAnswers(applicationId)).toBe(false);
});
