import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createTcpProxy, staySilent, waitUntil, type TcpProxy } from '@assistance/test-kit';
import { startEventsApi, type Caller, type EventsApi } from './start-events-api.ts';
import { subscribe, takeOutbox, wanted } from './subscriptions-of.ts';

let proxy: TcpProxy;
let api: EventsApi;
let caller: Caller;
beforeAll(async () => {
  api = await startEventsApi({}, async (url) => {
    proxy = await createTcpProxy({ to: new URL(url).host });
    return Object.assign(new URL(url), { host: proxy.address }).toString();
  });
  caller = api.as('partner');
});
afterAll(async () => {
  await proxy.restore();
  await api.stop();
  await proxy.close();
});

/** Holds what a statement locks, from when this resolves until its answer is called. */
async function hold(statement: string, ...parameters: unknown[]): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const holding = api.prisma.$transaction(async (transaction) => {
    await staySilent(transaction);
    await transaction.$executeRawUnsafe(statement, ...parameters);
    locked.resolve();
    await released.promise;
  });
  await Promise.race([locked.promise, holding]);
  return async () => {
    released.resolve();
    await holding.catch(() => undefined);
  };
}

test('while the database is away every operation is 503 with Retry-After; afterwards all is as it was', async () => {
  const { subscriptionId } = await subscribe(caller);
  const path = `/subscriptions/${subscriptionId}`;
  await takeOutbox(api, subscriptionId);
  await proxy.cut();
  const answers = await Promise.all([
    caller('POST', '/subscriptions', wanted),
    caller('GET', '/subscriptions'),
    caller('GET', path),
    caller('PATCH', path, { status: 'paused' }),
    caller('DELETE', path),
    caller('POST', `${path}/rotate-secret`),
    caller('POST', `${path}/test`),
    caller('POST', `${path}/replay`),
    caller('GET', `${path}/replays`),
  ]);
  for (const { statusCode, headers, body } of answers) {
    expect([statusCode, body.code, headers['retry-after']]).toEqual([503, 'unavailable', '2']);
    expect(JSON.stringify(body)).not.toMatch(/prisma|connect|127\.0\.0\.1/i);
  }
  expect((await caller('GET', '/event-types')).statusCode).toBe(200);

  await proxy.restore();
  const back = await waitUntil(async () => {
    const answer = await caller('GET', '/subscriptions');
    return answer.statusCode === 200 ? answer : undefined;
  });
  expect(back.body).toEqual([expect.objectContaining({ subscriptionId, status: 'active', version: 1 })]);
  expect(await takeOutbox(api, subscriptionId)).toEqual([]);
});

test('a creation whose connection breaks before the commit leaves nothing, not even a place taken', async () => {
  const before = (await caller('GET', '/subscriptions')).body.length;
  // The second statement of the transaction waits for a lock that the test holds, and the connection breaks there.
  const release = await hold('lock table subscription in exclusive mode');
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const creation = caller('POST', '/subscriptions', wanted);
  await waitUntil(async () => (await api.prisma.$queryRawUnsafe<unknown[]>(waiting)).length === 1);
  await proxy.cut();
  expect((await creation).statusCode).toBe(503);
  await release();
  await proxy.restore();
  await waitUntil(async () => (await caller('GET', '/subscriptions')).statusCode === 200);
  expect((await caller('GET', '/subscriptions')).body).toHaveLength(before);
  const { live } = await api.prisma.subscriptionOwner.findUniqueOrThrow({
    where: { owner: `${api.issuer}#partner` },
  });
  expect(live).toBe(before);
});

test('a row that stays locked is 503 in time, and not a wait for ever', async () => {
  const { subscriptionId } = await subscribe(caller);
  const release = await hold(
    'select 1 from subscription where subscription_id = $1 for update',
    subscriptionId,
  );
  const startedAt = performance.now();
  const { statusCode, body } = await caller('PATCH', `/subscriptions/${subscriptionId}`, {
    status: 'paused',
  });
  expect([statusCode, body.code]).toEqual([503, 'unavailable']);
  expect(performance.now() - startedAt).toBeLessThan(8_000);
  await release();
});
