import { expect, test } from '@jest/globals';
import { waitUntil } from '@assistance/test-kit';
import { askRetry } from '../src/mirror/ask-owner.ts';
import { requestReplay } from './request-replay.ts';
import { runDispatcher } from './start-dispatcher.ts';

const { surroundings } = await runDispatcher({ RETRY_BASE_MS: '3600000', FAILING_AFTER_MS: '3600000' });

test('in order per subject, what waits behind a delivery that a replay makes good follows at once', async () => {
  const receiver = await surroundings.receive();
  receiver.respond(() => ({ status: 500 }));
  const subscribed = await surroundings.subscribe({ callbackUrl: receiver.url, ordering: 'subject' });
  const since = new Date();
  const ids = await surroundings.publishEvents(3, { subject: 'sour' });
  const blocked = () => surroundings.prisma.unsettled.count({ where: { state: 'blocked' } });
  await waitUntil(async () => (await blocked()) === 2);
  receiver.respond(() => ({}));
  const replayId = await requestReplay(surroundings, subscribed, 'failed', since);
  await receiver.waitForCount(4);
  const made = receiver.received
    .slice(1)
    .map(({ headers }) => [headers['webhook-id'], headers['x-service-replay']]);
  expect(made).toEqual([
    [ids[0], replayId],
    [ids[1], undefined],
    [ids[2], undefined],
  ]);
  await waitUntil(async () => (await surroundings.prisma.unsettled.count()) === 0);
}, 40_000);

test('in order per subject, a replay does not overtake what the live lane tries again, and goes on when that is delivered', async () => {
  const receiver = await surroundings.receive();
  receiver.respond(() => ({ status: 500 }));
  const subscribed = await surroundings.subscribe({ callbackUrl: receiver.url, ordering: 'subject' });
  const [head] = await surroundings.publishEvents(1, { subject: 'stuck' });
  await receiver.waitForCount(1);
  const { laneNo, seq } = await waitUntil(() => surroundings.prisma.unsettled.findFirst());
  receiver.respond(() => ({}));
  const since = new Date();
  const behind = await surroundings.publishEvents(3, { subject: 'stuck', time: since });
  await waitUntil(
    async () => (await surroundings.prisma.unsettled.count({ where: { state: 'blocked' } })) === 3,
  );
  const replayId = await requestReplay(surroundings, subscribed, 'all', since);
  await waitUntil(
    async () => (await surroundings.prisma.unsettled.count({ where: { state: 'blocked' } })) === 6,
  );
  expect(receiver.received).toHaveLength(1);

  await askRetry(surroundings.prisma, subscribed.record.subscriptionId, Number(laneNo), Number(seq));
  await receiver.waitForCount(8);
  const received = receiver.received.map(({ headers }) => [
    headers['webhook-id'],
    headers['x-service-replay'],
  ]);
  const live = [head, head, ...behind].map((id) => [id, undefined]);
  expect(received).toEqual([...live, ...behind.map((id) => [id, replayId])]);
  const progress = { matched: 3, delivered: 3, pending: 0, dead: 0, cancelled: 0, expired: 0 };
  await waitUntil(async () =>
    (await surroundings.reports()).some(
      ({ data }) => data['replayId'] === replayId && data['status'] === 'completed',
    ),
  );
  const reports = (await surroundings.reports()).filter(({ data }) => data['replayId'] === replayId);
  expect(reports.at(-1)?.data['progress']).toEqual(progress);
}, 40_000);
