import { expect, test } from '@jest/globals';
import { newId } from '@assistance/service-kit';
import { waitUntil } from '@assistance/test-kit';
import { appendToLog } from '../src/log/event-log.ts';
import { eventKeyOf } from '../src/log/read-event.ts';
import { runDispatcher, startDispatcher } from './start-dispatcher.ts';

const { surroundings, dispatcher } = await runDispatcher();
const { prisma } = surroundings;
const SUBJECTS = 400;

/** As the intake of any instance does. */
async function append(subjects: string[]): Promise<string[]> {
  const events = subjects.map((subject) => {
    const id = newId('evt');
    const event = { specversion: '1.0', id, source: '/documents', type: 'document.available', subject };
    return {
      ...{ type: 'document.available', onlyLane: null, eventKey: eventKeyOf('/documents', id) },
      ...{ webhookId: id, subject, eventTime: new Date(), body: Buffer.from(JSON.stringify(event)) },
    };
  });
  await appendToLog(prisma, events);
  return events.map(({ webhookId }) => webhookId);
}

test('who takes over begins nothing of a subject before what waits of it, also while it still reads what waits', async () => {
  const receiver = await surroundings.receive();
  const { record } = await surroundings.subscribe({
    ...{ callbackUrl: receiver.url, ordering: 'subject', status: 'paused' },
    createdAt: new Date().toISOString(),
    eventTypes: [{ type: 'document.available', addedAt: new Date().toISOString() }],
  });
  const { subscriptionId } = record;
  const lane = await waitUntil(() => prisma.lane.findFirst({ where: { subscriptionId } }));
  const [last] = (await append(Array.from({ length: SUBJECTS }, (_, i) => `s${i}`))).slice(-1);
  await dispatcher.stop();
  // As it is when the head of each was settled and the next was not yet released.
  await prisma.$executeRawUnsafe(
    `insert into unsettled (lane_no, seq, state, attempts, counted, subject)
     select $1::bigint, seq, 'blocked', 0, 0, subject from event`,
    lane.laneNo,
  );
  await prisma.$executeRawUnsafe(
    'update lane set cursor = (select max(seq) from event) where lane_no = $1',
    lane.laneNo,
  );
  await prisma.subscription.update({ where: { subscriptionId }, data: { status: 'active' } });

  const subject = `s${SUBJECTS - 1}`;
  const ids = [last!];
  const starting = startDispatcher(surroundings);
  const firstOf = () => receiver.received.find(({ body }) => body.includes(`"subject":"${subject}"`));
  while (firstOf() === undefined) ids.push(...(await append([subject])));
  await starting;
  await waitUntil(() => receiver.received.length >= SUBJECTS + ids.length - 1, { timeoutMs: 60_000 });
  const received = receiver.received.filter(({ body }) => body.includes(`"subject":"${subject}"`));
  expect(received.map(({ headers }) => headers['webhook-id'])).toEqual(ids);
}, 120_000);
