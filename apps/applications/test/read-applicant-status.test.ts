import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { applicantStatus, applicationStatuses } from '@assistance/types';
import type { Got } from 'got';
import { plainStatus } from '../src/reading/plain-status.ts';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { get, post, submitted } from './support/submission.ts';

let service: Service;
let client: Got;
beforeAll(async () => {
  service = await startService({ decide: false });
  client = clientOf(service);
});
afterAll(() => service.stop());

const statusOf = (applicationId: string, language?: string) =>
  get(
    client,
    `applications/${applicationId}/status`,
    language === undefined ? {} : { 'accept-language': language },
  );

test('says in plain words where an application is, and what to do', async () => {
  const { status, headers, body } = await statusOf(await submitted(client));
  expect(status).toBe(200);
  expect(applicantStatus.strict().parse(body)).toEqual(plainStatus.en.submitted);
  expect(body.status).toBe('Received');
  expect(headers['content-language']).toBe('en');
  expect(headers['vary']).toContain('Accept-Language');
});

test('follows the application', async () => {
  const applicationId = await submitted(client, { programCode: 'TEST-INELIGIBLE' });
  await service.decideOnce();
  expect((await statusOf(applicationId)).body.status).toBe('Not eligible');
  const other = await submitted(client);
  await post(client, `applications/${other}/withdraw`);
  expect((await statusOf(other)).body.status).toBe('Withdrawn');
});

describe('the language', () => {
  test.each([
    ['es', 'es'],
    ['es-MX,es;q=0.9,en;q=0.8', 'es'],
    ['en-GB', 'en'],
    ['fr, es;q=0.5', 'es'],
    ['fr', 'en'],
    ['*', 'en'],
    ['es;q=0', 'en'],
    [';;nonsense', 'en'],
  ])('Accept-Language %j gets %s', async (accepted, language) => {
    const { headers, body } = await statusOf(await submitted(client), accepted);
    expect(headers['content-language']).toBe(language);
    expect(body).toEqual(plainStatus[language as 'en' | 'es'].submitted);
  });
});

test('every status has its words in both languages', () => {
  for (const words of [plainStatus.en, plainStatus.es]) {
    const all = applicationStatuses.map((status) => words[status]);
    expect(new Set(all.map(({ status }) => status)).size).toBe(applicationStatuses.length);
    for (const { message, nextStep } of all) expect(message.length * nextStep.length).toBeGreaterThan(0);
  }
  expect(applicationStatuses.map((status) => plainStatus.en[status].status)).toEqual([
    'Received',
    'Being checked',
    'May qualify',
    'Not eligible',
    'Approved',
    'Withdrawn',
  ]);
});
