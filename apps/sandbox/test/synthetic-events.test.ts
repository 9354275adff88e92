import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import got from 'got';
import { cloudEvent, eventTypeNames, eventTypes, topicOfEvent, type EventType } from '@assistance/types';
import { waitUntil } from '@assistance/test-kit';
import { startSandbox, type StartedSandbox } from './start-sandbox.ts';
import { startTopics, type TestTopics } from './start-topics.ts';

let kafka: TestTopics;
let sandbox: StartedSandbox;
beforeAll(async () => {
  kafka = await startTopics(Object.values(topicOfEvent));
  sandbox = await startSandbox(kafka.environment);
  await waitUntil(async () => (await publish({ type: 'document.available' })).ok, { timeoutMs: 15_000 });
});
afterAll(async () => {
  await sandbox?.discard();
  await kafka?.close();
});

const publish = (json: object) =>
  sandbox.control.post<{ eventIds: string[]; code?: string }>('events', { json });

/** The events with these ids, as soon as all of them have arrived, in the order of the ids. */
async function arrived(type: EventType, ids: string[]) {
  return waitUntil(() => {
    const records = kafka.records(topicOfEvent[type].name).map(({ key, value }) => ({
      key,
      event: cloudEvent.parse(JSON.parse(String(value))),
    }));
    const byId = new Map(records.map((record) => [record.event.id, record]));
    const found = ids.flatMap((id) => byId.get(id) ?? []);
    return found.length === ids.length ? found : undefined;
  });
}

describe.each(eventTypeNames)('a synthetic %s', (type) => {
  test('is a CloudEvent of its topic and its schema, about something of its own', async () => {
    const { statusCode, body } = await publish({ type, count: 3 });
    expect(statusCode).toBe(202);
    expect(body.eventIds).toHaveLength(3);
    const records = await arrived(type, body.eventIds);
    for (const { key, event } of records) {
      expect(event).toMatchObject({
        type,
        source: topicOfEvent[type].producer,
        datacontenttype: 'application/json',
      });
      expect(event.id).toMatch(/^evt_/);
      expect(key).toBe(event.subject);
      expect(eventTypes[type].data.safeParse(event.data).success).toBe(true);
      expect(Object.values(event.data as object)).toContain(event.subject);
    }
    expect(new Set(records.map(({ event }) => event.subject)).size).toBe(3);
  });

  test('is about the subject that was asked', async () => {
    const { body } = await publish({ type, subject: 'SUBJECT-1', count: 2 });
    for (const { key, event } of await arrived(type, body.eventIds)) {
      expect([key, event.subject]).toEqual(['SUBJECT-1', 'SUBJECT-1']);
      expect(Object.values(event.data as object)).toContain('SUBJECT-1');
    }
  });
});

test('ten thousand at once are acknowledged one by one', async () => {
  const { statusCode, body } = await publish({ type: 'request.released', count: 10_000 });
  expect(statusCode).toBe(202);
  expect(new Set(body.eventIds).size).toBe(10_000);
  expect(await arrived('request.released', body.eventIds)).toHaveLength(10_000);
});

test.each([
  {},
  { type: 'case.unknown' },
  { type: 'document.available', count: 0 },
  { type: 'document.available', count: 10_001 },
  { type: 'document.available', count: 1.5 },
  { type: 'document.available', subject: '' },
  { type: 'document.available', subject: ' x' },
  { type: 'document.available', other: 1 },
])('%j is 400', async (json) => {
  const { statusCode, body } = await publish(json);
  expect([statusCode, body.code]).toEqual([400, 'validation_error']);
});

test('while Kafka is away the answer is 503, and everything else goes on', async () => {
  const alone = await startSandbox();
  const answer = await alone.control.post('events', { json: { type: 'document.available' } });
  expect(answer.statusCode).toBe(503);
  expect(answer.body).toMatchObject({ code: 'unavailable' });
  expect(answer.headers['retry-after']).toBeDefined();
  expect((await alone.control.put('inboxes/any', { json: {} })).statusCode).toBe(200);
  const ready = await got(`${alone.opsUrl}/readyz`, { throwHttpErrors: false });
  expect(ready.statusCode).toBe(503);
  await alone.discard();
});
