import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createReceiver } from '@assistance/test-kit';
import { subscriptionWithSecret } from '@assistance/types';
import { startEventsApi, type Caller, type EventsApi } from './start-events-api.ts';
import { subscribe, takeRecord, wanted } from './subscriptions-of.ts';

let api: EventsApi;
let caller: Caller;
beforeAll(async () => {
  api = await startEventsApi();
  caller = api.as('partner');
});
afterAll(() => api.stop());

test('answers 201 with the active subscription, its address, and its signing secret', async () => {
  const before = Date.now();
  const { statusCode, headers, body } = await caller('POST', '/subscriptions', wanted);
  expect(statusCode).toBe(201);
  expect(subscriptionWithSecret.strict().parse(body)).toEqual({
    subscriptionId: expect.stringMatching(/^sub_[0-9a-z]{26}$/),
    eventTypes: ['case.status_changed', 'application.decided'],
    callbackUrl: 'https://example.com/hooks',
    status: 'active',
    statusReason: null,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    ordering: 'none',
    version: 1,
    signingSecret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  });
  expect(Math.abs(Date.parse(body.createdAt) - before)).toBeLessThan(5_000);
  expect(headers.location).toBe(`/events/v1/subscriptions/${body.subscriptionId}`);
  expect(headers['cache-control']).toBe('no-store');
});

test('shows the secret this once: no other answer has it', async () => {
  const { subscriptionId, signingSecret } = await subscribe(caller);
  const answers = [
    await caller('GET', `/subscriptions/${subscriptionId}`),
    await caller('GET', '/subscriptions'),
    await caller('PATCH', `/subscriptions/${subscriptionId}`, { ordering: 'subject' }),
  ];
  for (const { body } of answers) {
    expect(JSON.stringify(body)).not.toContain(signingSecret);
    expect(JSON.stringify(body)).not.toContain('signingSecret');
  }
});

test('keeps the secret and passes it on only as ciphertext bound to the subscription', async () => {
  const { subscriptionId, signingSecret } = await subscribe(caller);
  const row = await api.prisma.subscription.findUniqueOrThrow({ where: { subscriptionId } });
  const record = await takeRecord(api, subscriptionId);
  expect(JSON.stringify(row.secrets)).not.toContain(signingSecret.slice(6));
  expect(JSON.stringify(record)).not.toContain(signingSecret.slice(6));
  const [{ sealed, expiresAt } = { sealed: '', expiresAt: '' }] = record.secrets;
  expect(api.keyRing.open(sealed, subscriptionId).toString()).toBe(signingSecret);
  expect(() => api.keyRing.open(sealed, 'sub_another')).toThrow();
  expect(expiresAt).toBeNull();
});

test('tells the dispatcher all of it in the same commit', async () => {
  const wakesBefore = api.wakes();
  const { subscriptionId, createdAt } = await subscribe(caller, { ...wanted, ordering: 'subject' });
  expect(api.wakes()).toBe(wakesBefore + 1);
  expect(await takeRecord(api, subscriptionId)).toEqual({
    subscriptionId,
    owner: `${api.issuer}#partner`,
    version: 1,
    status: 'active',
    statusEpoch: 1,
    eventTypes: [
      { type: 'case.status_changed', addedAt: createdAt },
      { type: 'application.decided', addedAt: createdAt },
    ],
    callbackUrl: 'https://example.com/hooks',
    ordering: 'subject',
    secrets: [{ sealed: expect.stringMatching(/^k1\./), createdAt, expiresAt: null }],
    createdAt,
  });
});

test('drops doubles among the event types and keeps the order of the catalogue', async () => {
  const { eventTypes } = await subscribe(caller, {
    ...wanted,
    eventTypes: ['request.released', 'case.status_changed', 'request.released', 'document.available'],
  });
  expect(eventTypes).toEqual(['case.status_changed', 'document.available', 'request.released']);
});

test('takes an address of 2048 characters, and an ordering of null as none', async () => {
  const callbackUrl = `https://example.com/${'ü'.repeat(2048 - 20)}`;
  const made = await subscribe(caller, { ...wanted, callbackUrl, ordering: null });
  expect(made).toMatchObject({ callbackUrl, ordering: 'none' });
});

describe('a body that is not as it should be is 400 and makes nothing:', () => {
  test.each<[string, unknown, object[]]>([
    [
      'nothing at all',
      {},
      [
        { pointer: '/eventTypes', code: 'required' },
        { pointer: '/callbackUrl', code: 'required' },
      ],
    ],
    ['no event types', { ...wanted, eventTypes: [] }, [{ pointer: '/eventTypes', code: 'too_short' }]],
    [
      'event types of null',
      { ...wanted, eventTypes: null },
      [{ pointer: '/eventTypes', code: 'invalid_type' }],
    ],
    [
      'one event type as text',
      { ...wanted, eventTypes: 'case.status_changed' },
      [{ pointer: '/eventTypes' }],
    ],
    [
      'an unknown event type',
      { ...wanted, eventTypes: ['case.status_changed', 'case.*'] },
      [{ pointer: '/eventTypes/1' }],
    ],
    ['the test event', { ...wanted, eventTypes: ['subscription.test'] }, [{ pointer: '/eventTypes/0' }]],
    ['an empty address', { ...wanted, callbackUrl: '' }, [{ pointer: '/callbackUrl', code: 'too_short' }]],
    [
      'an address of 2049 characters',
      { ...wanted, callbackUrl: `https://example.com/${'a'.repeat(2029)}` },
      [{ pointer: '/callbackUrl', code: 'too_long' }],
    ],
    [
      'an address that is a number',
      { ...wanted, callbackUrl: 1 },
      [{ pointer: '/callbackUrl', code: 'invalid_type' }],
    ],
    [
      'http',
      { ...wanted, callbackUrl: 'http://example.com/' },
      [{ pointer: '/callbackUrl', code: 'scheme_not_allowed' }],
    ],
    [
      'a private address',
      { ...wanted, callbackUrl: 'https://10.0.0.1/' },
      [{ pointer: '/callbackUrl', code: 'host_not_allowed' }],
    ],
    [
      'an unknown ordering',
      { ...wanted, ordering: 'strict' },
      [{ pointer: '/ordering', code: 'invalid_value' }],
    ],
    [
      'an unknown field',
      { ...wanted, secret: 'whsec_mine' },
      [{ pointer: '/secret', code: 'unknown_field' }],
    ],
    ['a status', { ...wanted, status: 'paused' }, [{ pointer: '/status', code: 'unknown_field' }]],
    ['a list', [wanted], [{ pointer: '', code: 'invalid_type' }]],
    ['null', null, [{ pointer: '', code: 'invalid_type' }]],
    [
      'four faults at once',
      { eventTypes: ['nothing'], callbackUrl: 'https://localhost/', ordering: 1, more: true },
      [
        { pointer: '/eventTypes/0' },
        { pointer: '/callbackUrl' },
        { pointer: '/ordering' },
        { pointer: '/more' },
      ],
    ],
  ])('%s', async (_what, body, faults) => {
    const before = await api.prisma.subscription.count();
    const answer = await caller('POST', '/subscriptions', body === null ? 'null' : body);
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toMatchObject({
      code: 'validation_error',
      requestId: answer.headers['x-request-id'],
    });
    expect(answer.body.details).toHaveLength(faults.length);
    expect(answer.body.details).toEqual(
      expect.arrayContaining(faults.map((fault) => expect.objectContaining(fault))),
    );
    expect(await api.prisma.subscription.count()).toBe(before);
  });
});

describe('the limit per client', () => {
  test('holds when all come at once, counts each client alone, and a deletion makes room', async () => {
    const limited = await startEventsApi({ maxSubscriptionsPerClient: 3 });
    try {
      const one = limited.as('one');
      const answers = await Promise.all(
        Array.from({ length: 12 }, () => one('POST', '/subscriptions', wanted)),
      );
      expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([
        201,
        201,
        201,
        ...Array(9).fill(409),
      ]);
      expect(answers.find(({ statusCode }) => statusCode === 409)?.body.code).toBe(
        'subscription_limit_reached',
      );
      expect((await one('GET', '/subscriptions')).body).toHaveLength(3);
      await subscribe(limited.as('other'));

      const [{ subscriptionId }] = (await one('GET', '/subscriptions')).body;
      await Promise.all([1, 2, 3].map(() => one('DELETE', `/subscriptions/${subscriptionId}`)));
      await subscribe(one);
      expect((await one('POST', '/subscriptions', wanted)).statusCode).toBe(409);
    } finally {
      await limited.stop();
    }
  });
});

test('asks neither DNS nor the endpoint: neither a name that nobody knows nor one that listens is looked at', async () => {
  const receiver = await createReceiver();
  const sandbox = await startEventsApi({ callbackRules: { rules: 'sandbox', allowedNetworks: [] } });
  try {
    await subscribe(caller, { ...wanted, callbackUrl: 'https://nobody-knows-this-name.example/hooks' });
    const client = sandbox.as('partner');
    const { subscriptionId } = await subscribe(client, { ...wanted, callbackUrl: receiver.url });
    const changed = { callbackUrl: `${receiver.url}/other` };
    expect((await client('PATCH', `/subscriptions/${subscriptionId}`, changed)).statusCode).toBe(200);
    expect(receiver.received).toEqual([]);
  } finally {
    await sandbox.stop();
    await receiver.close();
  }
});

test('the sandbox takes http and loopback, and nothing else that is private', async () => {
  const sandbox = await startEventsApi({ callbackRules: { rules: 'sandbox', allowedNetworks: [] } });
  try {
    const client = sandbox.as('partner');
    await subscribe(client, { ...wanted, callbackUrl: 'http://127.0.0.1:9000/hooks' });
    await subscribe(client, { ...wanted, callbackUrl: 'http://localhost:8080/sandbox/v1/inbox/a' });
    const refused = await client('POST', '/subscriptions', { ...wanted, callbackUrl: 'http://10.0.0.1/' });
    expect(refused.statusCode).toBe(400);
  } finally {
    await sandbox.stop();
  }
});
