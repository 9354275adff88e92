import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { migrate } from '@assistance/service-kit';
import { createTestDatabase, type TestDatabase } from '@assistance/test-kit';
import type { PrismaClient } from '../src/generated/prisma/client.ts';
import { appendToLog } from '../src/log/event-log.ts';
import { makeDayPartitions } from '../src/log/day-partitions.ts';
import { eventKeyOf, type IncomingEvent } from '../src/log/read-event.ts';
import { openDatabase } from '../src/open-database.ts';
import { noonOf, putOldEvents } from './old-days.ts';

let database: TestDatabase;
let prisma: PrismaClient;

beforeAll(async () => {
  database = await createTestDatabase({
    template: 'webhook-dispatcher',
    migrate: (url) => migrate(url, join(import.meta.dirname, '..', 'prisma', 'migrations')),
  });
  prisma = openDatabase({ url: database.url, poolSize: 2 });
  await makeDayPartitions(prisma);
});

afterAll(async () => {
  await prisma?.$disconnect();
  await database?.drop();
});

const eventWith = (fields: Partial<IncomingEvent> = {}): IncomingEvent => ({
  type: 'document.available',
  onlyLane: null,
  eventKey: eventKeyOf('/documents', randomUUID()),
  webhookId: 'evt_1',
  subject: 'doc_1',
  eventTime: new Date(),
  body: Buffer.from('{}'),
  ...fields,
});

test.each([
  ['at its own time', noonOf(3)],
  // Without a time of its own an event has that of its record, which is new when it is published again.
  ['at the time of its second publication', new Date()],
])('one that comes again three days later, %s, is not kept twice', async (_when, eventTime) => {
  const [old] = await putOldEvents(prisma, 3, 1);
  const { eventKey } = await prisma.event.findFirstOrThrow({ where: { seq: BigInt(old!.seq) } });
  expect(await appendToLog(prisma, [eventWith({ eventKey, eventTime }), eventWith()])).toBe(1);
  expect(await prisma.event.count({ where: { eventKey } })).toBe(1);
});

test('twice in one batch is kept once, and the same id of another source is another event', async () => {
  const [one, other] = ['/one', '/other'].map((source) =>
    eventWith({ eventKey: eventKeyOf(source, 'evt_x') }),
  );
  expect(await appendToLog(prisma, [one!, other!, one!])).toBe(2);
  expect(await appendToLog(prisma, [other!, one!])).toBe(0);
});
