import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { OpenApiDocument } from '@assistance/service-kit';
import type { Dependencies } from '../src/dependencies.ts';
import { eventTypeNames } from '@assistance/types';
import { operations } from '../src/operations.ts';
import { routes } from '../src/routes.ts';
import { startEventsApi, type EventsApi } from './start-events-api.ts';

let api: EventsApi;
let document: OpenApiDocument;
beforeAll(async () => {
  api = await startEventsApi();
  document = (await api.bare('GET', '/openapi.json')).body;
});
afterAll(() => api.stop());

const described = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );

test('every route is described, and nothing else is', () => {
  const table = routes({} as Dependencies).map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  expect(table.length).toBeGreaterThan(10);
  expect(described().toSorted()).toEqual(table.toSorted());
});

test('the copy in docs is what is served', () => {
  const copy = join(import.meta.dirname, '../../../docs/openapi/events.json');
  expect(JSON.parse(readFileSync(copy, 'utf8'))).toEqual(document);
});

test('what a subscriber receives is described for each event type, with the headers that are verified', () => {
  const webhooks = document['webhooks'] as Record<string, { post: { parameters: { name: string }[] } }>;
  expect(Object.keys(webhooks)).toEqual(eventTypeNames);
  for (const { post } of Object.values(webhooks)) {
    expect(post.parameters.map(({ name }) => name)).toEqual([
      'X-Service-Signature',
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
      'X-Service-Replay',
    ]);
  }
});

test('the page needs no token, no script and nothing from elsewhere, and names every operation', async () => {
  const { statusCode, headers, body } = await api.bare('GET', '/docs');
  expect(statusCode).toBe(200);
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(headers['content-security-policy']).toContain("script-src 'self'");
  expect(body).not.toMatch(/<script|src=|https?:\/\/(?!example\.com)/);
  for (const { summary } of Object.values(operations)) expect(body).toContain(summary);
});

test('each success that is described is answered so, and each error of a call that goes wrong', async () => {
  const call = api.as('owner');
  const { subscriptionId } = (await call('POST', '/subscriptions', operations.create.example)).body;
  const here = `/subscriptions/${subscriptionId}`;
  const { replayId } = (await call('POST', `${here}/replay`, operations.replay.example)).body;
  const calls: [method: string, path: string, body?: object][] = [
    ['GET', '/subscriptions'],
    ['GET', here],
    ['PATCH', here, operations.change.example],
    ['POST', `${here}/rotate-secret`],
    ['POST', `${here}/test`],
    ['GET', `${here}/replays?limit=1`],
    ['GET', `${here}/replays/${replayId}`],
    ['DELETE', `${here}/replays/${replayId}`],
    ['DELETE', here],
    ['GET', '/event-types'],
    ['GET', '/event-types/case.status_changed'],
    ['GET', '/openapi.json'],
    ['GET', '/docs'],
  ];
  for (const [method, path, body] of calls) await call(method, path, body);
  const successes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { responses }]) =>
      Object.keys(responses as object)
        .filter((status) => status.startsWith('2'))
        .map((status) => `${method} ${path} ${status}`),
    ),
  );
  expect([...api.check.seen].toSorted()).toEqual(successes.toSorted());

  for (const [method, path] of calls) await api.bare(method, path);
  await call('POST', '/subscriptions', {});
  await call('POST', `${here}/replay`, { since: 'yesterday' });
  await call('GET', `${here}/replays?cursor=x`);
  await call('GET', here);
  expect([...api.check.seen]).toEqual(
    expect.arrayContaining([
      'get /event-types 401',
      'post /subscriptions 400',
      'post /subscriptions/{subscriptionId}/replay 400',
      'get /subscriptions/{subscriptionId}/replays 400',
      'get /subscriptions/{subscriptionId} 404',
    ]),
  );
});

test('what goes beyond the specification is marked, what it has is not', () => {
  const marked = described().filter((each) => {
    const [method = '', path = ''] = each.split(' ');
    return document.paths[path]?.[method]?.['x-addition'] === true;
  });
  const specified = [
    'delete /subscriptions/{subscriptionId}',
    'get /event-types',
    'get /subscriptions',
    'post /subscriptions',
    'post /subscriptions/{subscriptionId}/replay',
  ];
  expect(
    described()
      .filter((each) => !marked.includes(each))
      .toSorted(),
  ).toEqual(specified);
  const { responses } = document.paths['/subscriptions']?.['post'] as { responses: Record<string, object> };
  expect(responses['400']).not.toHaveProperty('x-addition');
  expect(responses['409']).toHaveProperty('x-addition', true);
});
