import { expect, test } from '@jest/globals';
import { waitUntil } from '@assistance/test-kit';
import { runDispatcher } from './start-dispatcher.ts';

const { surroundings } = await runDispatcher({
  RETRY_BASE_MS: '30',
  RETRY_FACTOR: '3',
  FAILING_AFTER_ATTEMPTS: '6',
  FAILING_AFTER_MS: '100',
  FAILING_RETRY_MAX_MS: '40',
});

const failing = (subscriptionId: string) =>
  waitUntil(async () => {
    const live = await surroundings.prisma.lane.findFirst({ where: { subscriptionId } });
    return live?.judged === 'failing';
  });

test('while failing what was never tried is tried first, in order, then what was tried longest ago', async () => {
  const receiver = await surroundings.receive();
  const idsOf = (): string[] => receiver.received.map(({ headers }) => String(headers['webhook-id']));
  receiver.respond(() => ({ status: 500 }));
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url });
  // Tried so often that it is due long after what is tried once.
  const [often] = await surroundings.publishEvents(1);
  await receiver.waitForCount(4);
  const once = await surroundings.publishEvents(2);
  await failing(record.subscriptionId);
  const fresh = await surroundings.publishEvents(3, { subject: 'same' });
  await waitUntil(() => fresh.every((id) => idsOf().includes(id)));
  expect([...new Set(idsOf())].slice(-3)).toEqual(fresh);

  const count = receiver.received.length;
  await receiver.waitForCount(count + 24);
  const rounds = idsOf().slice(count, count + 24);
  const round = rounds.slice(0, 6);
  expect([...round].sort()).toEqual([often, ...once, ...fresh].sort());
  expect(rounds).toEqual([...round, ...round, ...round, ...round]);
}, 30_000);

test('with order per subject only the head of each subject is tried while failing', async () => {
  const receiver = await surroundings.receive();
  const idsOf = (): string[] => receiver.received.map(({ headers }) => String(headers['webhook-id']));
  receiver.respond(() => ({ status: 500 }));
  const { record } = await surroundings.subscribe({ callbackUrl: receiver.url, ordering: 'subject' });
  const sour = await surroundings.publishEvents(3, { subject: 'sour' });
  await failing(record.subscriptionId);
  const bitter = await surroundings.publishEvents(3, { subject: 'bitter' });
  await waitUntil(() => idsOf().includes(bitter[0]!));
  await receiver.waitForCount(receiver.received.length + 8);
  expect(new Set(idsOf())).toEqual(new Set([sour[0], bitter[0]]));

  receiver.respond(() => ({}));
  await waitUntil(() => [...sour, ...bitter].every((id) => idsOf().includes(id)));
  const firsts = [...new Set(idsOf())];
  expect(firsts.filter((id) => sour.includes(id))).toEqual(sour);
  expect(firsts.filter((id) => bitter.includes(id))).toEqual(bitter);
}, 30_000);
