import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { OpenApiDocument } from '@assistance/service-kit';
import got, { type Got } from 'got';
import type { AppDeps } from '../src/app.ts';
import { operations } from '../src/operations.ts';
import { routes } from '../src/routes.ts';
import { answerCheck, clientOf, startService, type Service } from './support/start-service.ts';
import { get, post } from './support/submission.ts';

let service: Service;
let client: Got;
let document: OpenApiDocument;
beforeAll(async () => {
  service = await startService();
  client = clientOf(service);
  document = await got(`${service.baseUrl}/openapi.json`).json();
});
afterAll(() => service.stop());

const described = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method} ${path}`,
      isAddition: operation['x-addition'] === true,
      responses: operation['responses'] as Record<string, object>,
    })),
  );

test('every route is described, and nothing else is', () => {
  const table = routes({} as AppDeps).map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  expect(table.length).toBeGreaterThan(7);
  expect(
    described()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(table.toSorted());
});

test('the copy in docs is what is served', () => {
  const copy = join(import.meta.dirname, '../../../docs/openapi/applications.json');
  expect(JSON.parse(readFileSync(copy, 'utf8'))).toEqual(document);
});

test('the page needs no token, no script and nothing from elsewhere, and names every operation', async () => {
  const { headers, body } = await got(`${service.baseUrl}/docs`);
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(headers['content-security-policy']).toContain("script-src 'self'");
  expect(body).not.toMatch(/<script|src=|https?:\/\//);
  for (const { summary } of Object.values(operations)) expect(body).toContain(summary);
});

test('each success that is described is answered so, and each error of a call that goes wrong', async () => {
  const submission = { headers: { 'idempotency-key': 'a-key' }, json: operations.submit.example };
  const first = await post(client, 'applications', submission);
  expect(first.status).toBe(201);
  const here = `applications/${first.body.applicationId}`;
  const reads = [
    'applications?limit=1',
    here,
    `${here}/status`,
    `${here}/history`,
    'programs',
    'programs/TEST-SCHEMA',
    'openapi.json',
  ];
  for (const path of reads) expect((await get(client, path)).status).toBe(200);
  expect((await post(client, `${here}/withdraw`)).status).toBe(200);
  const successes = described().flatMap(({ name, responses }) =>
    Object.keys(responses)
      .filter((status) => status.startsWith('2'))
      .map((status) => `${name} ${status}`),
  );
  expect([...answerCheck.seen, 'get /docs 200'].toSorted()).toEqual(successes.toSorted());

  const nobody = client.extend({ headers: { authorization: undefined } });
  for (const path of reads.slice(0, -1)) expect((await get(nobody, path)).status).toBe(401);
  const others: [number, Promise<{ status: number }>][] = [
    [400, post(client, 'applications', { json: {} })],
    [400, get(client, 'applications?colour=red')],
    [404, get(client, 'programs/%20')],
    [409, post(client, 'applications', { ...submission, json: { ...submission.json, channel: 'mobile' } })],
    [422, post(client, `${here}/withdraw`)],
  ];
  for (const [status, answer] of others) expect((await answer).status).toBe(status);
});

test('what goes beyond the specification is marked, what it has is not', () => {
  const specified = described().filter(({ isAddition }) => !isAddition);
  expect(specified.map(({ name }) => name).toSorted()).toEqual([
    'get /applications',
    'get /applications/{applicationId}',
    'get /applications/{applicationId}/status',
    'post /applications',
    'post /applications/{applicationId}/withdraw',
  ]);
  const marked = specified.map(({ name, responses }) => [
    name,
    Object.keys(responses).filter((status) => 'x-addition' in (responses[status] ?? {})),
  ]);
  expect(Object.fromEntries(marked)).toEqual({
    'get /applications': ['400'],
    'get /applications/{applicationId}': ['400'],
    'get /applications/{applicationId}/status': ['400'],
    'post /applications': [],
    'post /applications/{applicationId}/withdraw': ['400'],
  });
});
