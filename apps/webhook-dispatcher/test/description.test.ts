import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { newId, type OpenApiDocument } from '@assistance/service-kit';

import got from 'got';
import { operations } from '../src/operations.ts';
import { routes, type RouteDependencies } from '../src/routes.ts';
import { answerCheck, createLogReader } from './read-log.ts';
import { runDispatcher } from './start-dispatcher.ts';

const { surroundings, dispatcher } = await runDispatcher();
const receiver = await surroundings.receive();
const document: OpenApiDocument = await got(`${dispatcher.url}/openapi.json`).json();

const described = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method} ${path}`,
      isAddition: operation['x-addition'] === true,
      statuses: Object.keys(operation['responses'] as object),
    })),
  );

test('every route is described, as an addition, and nothing else is', () => {
  const table = routes({} as RouteDependencies).map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  expect(table.length).toBeGreaterThan(5);
  expect(
    described()
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(table.toSorted());
  expect(described().filter(({ isAddition }) => !isAddition)).toEqual([]);
});

test('the copy in docs is what is served', () => {
  const copy = join(import.meta.dirname, '../../../docs/openapi/deliveries.json');
  expect(JSON.parse(readFileSync(copy, 'utf8'))).toEqual(document);
});

test('the page needs no token, no script and nothing from elsewhere, and names every operation', async () => {
  const { headers, body } = await got(`${dispatcher.url}/docs`);
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(headers['content-security-policy']).toContain("script-src 'self'");
  expect(body).not.toMatch(/<script|src=|https?:\/\//);
  for (const { summary } of Object.values(operations)) expect(body).toContain(summary);
});

test('each success that is described is answered so, and each error of a call that goes wrong', async () => {
  const log = createLogReader(surroundings, dispatcher);
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  const { subscriptionId } = record;
  const [eventId] = await surroundings.publishEvents(1);
  const [found] = await log.deliveriesWith(`subscriptionId=${subscriptionId}&status=delivered`, 1);
  const here = `/deliveries/${found!.deliveryId}`;
  const reads = [
    `/deliveries?eventId=${eventId}`,
    here,
    `/subscriptions/${subscriptionId}/reconciliation`,
    `/subscriptions/${subscriptionId}/events?limit=1`,
    `/explain?subscriptionId=${subscriptionId}&eventId=${eventId}`,
    '/openapi.json',
  ];
  for (const path of reads) expect((await log.call(path)).status).toBe(200);
  expect((await log.call(`${here}/retry`, { method: 'POST' })).status).toBe(202);
  const successes = described().flatMap(({ name, statuses }) =>
    statuses.filter((status) => status.startsWith('2')).map((status) => `${name} ${status}`),
  );
  expect([...answerCheck.seen, 'get /docs 200'].toSorted()).toEqual(successes.toSorted());

  const unknown = `/subscriptions/${newId('sub')}`;
  expect((await log.call(`${here}?colour=red`)).status).toBe(400);
  expect((await log.call('/deliveries?cursor=x')).status).toBe(400);
  for (const path of reads.slice(0, -1)) expect((await log.call(path, { scopes: [] })).status).toBe(403);
  for (const path of [here, `${unknown}/events`, `${unknown}/reconciliation`]) {
    expect((await log.call(path, { clientId: 'stranger' })).status).toBe(404);
  }
});
