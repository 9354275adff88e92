import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startEventsApi, type EventsApi } from './start-events-api.ts';

let api: EventsApi;
beforeAll(async () => {
  api = await startEventsApi();
});
afterAll(() => api.stop());

test('smoke', async () => {
  const a = api.as('a');
  const r = await a('POST', '/subscriptions', {
    eventTypes: ['case.status_changed'],
    callbackUrl: 'https://example.com/x',
  });
  console.log(r.statusCode, r.body, r.headers);
  console.log((await a('GET', '/subscriptions')).body);
  console.log((await a('GET', '/event-types')).body);
  console.log(JSON.stringify((await a('GET', '/event-types/application.decided')).body, null, 1));
  const p = `/subscriptions/${r.body.subscriptionId}`;
  console.log((await a('POST', p + '/replay')).body);
  console.log((await a('POST', p + '/replay', { since: new Date(), mode: 'missing' })).body);
  console.log((await a('GET', p + '/replays?limit=1')).body);
  console.log((await a('POST', p + '/rotate-secret')).body);
  console.log((await a('POST', p + '/test')).body);
  console.log((await a('PATCH', p, { status: 'paused' })).body);
  const d = await a('DELETE', p);
  console.log(d.statusCode, d.body, (await a('GET', p)).body);
  console.log(
    (await api.prisma.outbox.findMany()).map((o) => [o.topic, o.headers, Buffer.from(o.value!).toString()]),
  );
});
