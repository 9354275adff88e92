import { expect, test } from '@jest/globals';
import { waitUntil } from '@assistance/test-kit';
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
