import { setInterval as ticks } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { CloudEvent, HTTP } from 'cloudevents';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { waitUntil, type Received } from '@assistance/test-kit';
import { createLogReader } from './read-log.ts';
import { requestReplay } from './request-replay.ts';
import { runDispatcher } from './start-dispatcher.ts';

const { surroundings, dispatcher } = await runDispatcher({
  RETRY_BASE_MS: '100',
  RETRY_FACTOR: '1',
  FAILING_AFTER_MS: '3600000',
  RATE_LIMIT_PER_SECOND: '5000',
});
const log = createLogReader(surroundings, dispatcher);
const receiver = await surroundings.receive();

/** A secret, when it was known to sign, and until when. */
interface Live {
  secret: string;
  publishedAt: number;
  knownAt: number;
  expiresAt: number;
}

const stripe = new Stripe('sk_test_unused');
const libraries: Record<string, (request: Received, secret: string) => unknown> = {
  stripe: ({ body, headers }, secret) =>
    stripe.webhooks.constructEvent(body, String(headers['x-service-signature']), secret),
  standardwebhooks: ({ body, headers }, secret) =>
    new StandardWebhook(secret).verify(body, headers as Record<string, string>),
  svix: ({ body, headers }, secret) =>
    new SvixWebhook(secret).verify(body, headers as Record<string, string>),
};

/** The libraries that take the request with this secret. */
const takenBy = (request: Received, secret: string): string[] =>
  Object.keys(libraries).filter((name) => {
    try {
      libraries[name]!(request, secret);
      return true;
    } catch {
      return false;
    }
  });

/** Of the attempt, to the second in which it was signed. */
const signedIn = ({ headers }: Received): { from: number; to: number } => {
  const from = Number(headers['webhook-timestamp']) * 1000;
  return { from, to: from + 1000 };
};

const TICK_MS = 100;
const TICKS = 80;
const ROTATE_EVERY = 20;
/** Two rotations, so that three secrets are live at most, and more than it takes a busy machine to learn of one. */
const OVERLAP_MS = 4_000;

test('the libraries of the field take every request of a run in which secrets rotate, with each secret that is live', async () => {
  receiver.respond((_request, number) => ({ status: number % 5 === 0 ? 500 : 204 }));
  const since = new Date();
  const subscribed = await surroundings.subscribe({ callbackUrl: receiver.url });
  const { subscriptionId } = subscribed.record;
  await log.waitForVersion(subscriptionId, 1);
  const live: Live[] = [{ secret: subscribed.secret, publishedAt: 0, knownAt: 0, expiresAt: Infinity }];

  async function rotate(): Promise<void> {
    const publishedAt = Date.now();
    const { secret, expiresAt } = await subscribed.rotateSecret(OVERLAP_MS);
    live.at(-1)!.expiresAt = expiresAt.getTime();
    await log.waitForVersion(subscriptionId, subscribed.record.version);
    live.push({ secret, publishedAt, knownAt: Date.now(), expiresAt: Infinity });
  }

  const ids: string[] = [];
  const replayIds: string[] = [];
  let tick = 0;
  for await (const _ of ticks(TICK_MS)) {
    tick += 1;
    if (tick > TICKS) break;
    ids.push(...(await surroundings.publishEvents(5)));
    if (tick % ROTATE_EVERY === 0) await rotate();
    if (tick === 25 || tick === 45) {
      replayIds.push(await requestReplay(surroundings, subscribed, 'all', since));
    }
    if (tick === 30) {
      const { data } = await log.list(`subscriptionId=${subscriptionId}&status=delivered&limit=10`);
      for (const { deliveryId } of data)
        await log.call(`/deliveries/${deliveryId}/retry`, { method: 'POST' });
    }
  }
  const received = (): Set<unknown> => new Set(receiver.received.map(({ headers }) => headers['webhook-id']));
  await waitUntil(() => received().size >= ids.length, { timeoutMs: 20_000 });
  await waitUntil(
    async () => {
      const completed = (await surroundings.reports()).filter(({ data }) => data['status'] === 'completed');
      return replayIds.every((replayId) => completed.some(({ data }) => data['replayId'] === replayId));
    },
    { timeoutMs: 20_000, intervalMs: 300 },
  );

  expect(received()).toEqual(new Set(ids));
  expect(live).toHaveLength(1 + TICKS / ROTATE_EVERY);
  const faults: string[] = [];
  for (const request of receiver.received) {
    expect(HTTP.toEvent({ headers: request.headers, body: request.body })).toBeInstanceOf(CloudEvent);
    const { from, to } = signedIn(request);
    let required = 0;
    for (const [n, { secret, publishedAt, knownAt, expiresAt }] of live.entries()) {
      const taken = takenBy(request, secret);
      const isLive = knownAt <= from && to <= expiresAt;
      const mayBeLive = publishedAt < to && from < expiresAt;
      if (isLive) required += 1;
      if (isLive && taken.length < 3)
        faults.push(`secret ${n} is live and taken by ${taken.join(', ')} alone`);
      if (!mayBeLive && taken.length > 0)
        faults.push(`secret ${n} is not live and taken by ${taken.join(', ')}`);
      if (taken.length % 3 !== 0) faults.push(`of secret ${n} the libraries say different things`);
    }
    if (required === 0) faults.push('no secret was live for certain');
  }
  expect(faults).toEqual([]);
  const kinds = receiver.received.map(({ headers }) => headers['x-service-replay'] !== undefined);
  expect(kinds.filter((isReplay) => isReplay).length).toBeGreaterThan(100);
  expect(receiver.received.length).toBeGreaterThan(ids.length + 150);
}, 60_000);
