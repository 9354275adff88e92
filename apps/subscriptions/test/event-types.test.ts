import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startEventsApi, type EventsApi } from './start-events-api.ts';

let api: EventsApi;
beforeAll(async () => {
  api = await startEventsApi();
});
afterAll(() => api.stop());

test('the catalogue is a bare array of the four types, for every valid token', async () => {
  const { statusCode, body } = await api.as('anyone', [])('GET', '/event-types');
  expect(statusCode).toBe(200);
  expect(body).toEqual([
    { type: 'case.status_changed', description: 'A case moved to a new status.' },
    {
      type: 'application.decided',
      description: 'An application was found eligible, ineligible, or awarded.',
    },
    { type: 'document.available', description: 'A document passed scanning and is ready.' },
    { type: 'request.released', description: 'A records request release package was published.' },
  ]);
});

test('each of its types has a JSON Schema of what is delivered', async () => {
  const caller = api.as('anyone', []);
  for (const { type, description } of (await caller('GET', '/event-types')).body) {
    const { statusCode, body } = await caller('GET', `/event-types/${type}`);
    expect(statusCode).toBe(200);
    expect(body).toMatchObject({
      type,
      description,
      schema: {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        properties: { type: { const: type }, data: { type: 'object' } },
      },
    });
  }
  const { schema } = (await caller('GET', '/event-types/application.decided')).body;
  expect(schema.properties.data.properties.decision.enum).toEqual(['eligible', 'ineligible', 'awarded']);
  expect(schema.properties.data.required).toContain('applicationId');
});

test('an unknown type is 404, the test event among them', async () => {
  for (const type of ['case.closed', 'subscription.test', 'toString', '__proto__', 'CASE.STATUS_CHANGED']) {
    const { statusCode, body } = await api.as('anyone')('GET', `/event-types/${type}`);
    expect([type, statusCode, body.code]).toEqual([type, 404, 'not_found']);
  }
});
