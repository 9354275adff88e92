/** One request and the answer that the specification's tables (4.1, 4.2, 7) say it gets. */
export interface OperationCase {
  name: string;
  interface: 'applications' | 'events';
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  /** A client of the sandbox; `none` sends no token, `broken` one that nobody issued. */
  client: 'partner' | 'portal' | 'intake' | 'subscriber' | 'nobody' | 'none' | 'broken';
  headers?: Record<string, string>;
  json?: unknown;
  status: number;
  /** Of the error body; absent for a success. */
  code?: string;
}

export interface ExistingThings {
  applicationId: string;
  /** One whose program never permits withdrawal. */
  keptApplicationId: string;
  /** The key and the body that made `applicationId`. */
  usedKey: string;
  subscriptionId: string;
  callbackUrl: string;
}

const submission = { programCode: 'TEST-PENDING', channel: 'web', applicantRef: 'ref-1' };
const key = (): Record<string, string> => ({ 'idempotency-key': crypto.randomUUID() });

/** The ten operations of the specification: each success, and each error status that its tables name. */
export function operationCases(things: ExistingThings): OperationCase[] {
  const { applicationId, keptApplicationId, usedKey, subscriptionId, callbackUrl } = things;
  const missing = {
    application: 'app_00000000000000000000000000',
    subscription: 'sub_00000000000000000000000000',
  };
  const subscription = { eventTypes: ['application.decided'], callbackUrl };
  const since = { since: new Date(Date.now() - 60_000).toISOString() };

  const operations: (Pick<OperationCase, 'name' | 'interface' | 'method' | 'path' | 'status'> &
    Partial<OperationCase> & { wrongScope: OperationCase['client'] | null })[] = [
    {
      ...{ name: 'submit', interface: 'applications', method: 'POST', path: '/applications', status: 201 },
      ...{ headers: key(), json: submission, wrongScope: 'portal' },
    },
    { ...on('applications', 'list', 'GET', '/applications'), wrongScope: 'intake' },
    { ...on('applications', 'read', 'GET', `/applications/${applicationId}`), wrongScope: 'intake' },
    { ...on('applications', 'status', 'GET', `/applications/${applicationId}/status`), wrongScope: 'intake' },
    {
      ...on('applications', 'withdraw', 'POST', `/applications/${applicationId}/withdraw`),
      wrongScope: 'portal',
    },
    {
      ...on('events', 'subscribe', 'POST', '/subscriptions'),
      status: 201,
      json: subscription,
      wrongScope: 'portal',
    },
    { ...on('events', 'list subscriptions', 'GET', '/subscriptions'), wrongScope: 'portal' },
    { ...on('events', 'event types', 'GET', '/event-types'), wrongScope: null },
    {
      ...on('events', 'replay', 'POST', `/subscriptions/${subscriptionId}/replay`),
      ...{ status: 202, json: since, wrongScope: 'portal' },
    },
    {
      ...on('events', 'unsubscribe', 'DELETE', `/subscriptions/${subscriptionId}`),
      ...{ status: 204, wrongScope: 'portal' },
    },
  ];

  const refusals = operations.flatMap(({ wrongScope, ...operation }): OperationCase[] => [
    {
      ...operation,
      name: `${operation.name} without a token`,
      client: 'none',
      status: 401,
      code: 'token_missing',
    },
    {
      ...operation,
      name: `${operation.name} with a token of nobody`,
      client: 'broken',
      status: 401,
      code: 'token_invalid',
    },
    ...(wrongScope === null
      ? []
      : [
          {
            ...operation,
            ...{
              name: `${operation.name} without the scope`,
              client: wrongScope,
              status: 403,
              code: 'insufficient_scope',
            },
          },
        ]),
  ]);

  const post = (
    name: string,
    more: Partial<OperationCase> & { status: number; code: string },
  ): OperationCase => ({
    ...{ name, interface: 'applications', method: 'POST', path: '/applications', client: 'partner' },
    ...more,
  });
  const faults: OperationCase[] = [
    post('submit without a key', { json: submission, status: 400, code: 'idempotency_key_required' }),
    post('submit without fields', { headers: key(), json: {}, status: 400, code: 'validation_error' }),
    post('submit a direct identifier', {
      ...{
        headers: key(),
        json: { ...submission, applicantRef: 'ann@example.org' },
        status: 400,
        code: 'direct_identifier',
      },
    }),
    post('submit another body under a used key', {
      ...{ headers: { 'idempotency-key': usedKey }, json: { ...submission, channel: 'mobile' } },
      ...{ status: 409, code: 'idempotency_key_reused' },
    }),
    post('submit for a program that does not exist', {
      ...{
        headers: key(),
        json: { ...submission, programCode: 'TEST-UNKNOWN' },
        status: 422,
        code: 'program_unknown',
      },
    }),
    post('submit for a program that is not open', {
      ...{
        headers: key(),
        json: { ...submission, programCode: 'TEST-CLOSED' },
        status: 422,
        code: 'program_not_open',
      },
    }),
    ...['', '/status'].map((path) => ({
      ...on(
        'applications',
        `read what does not exist ${path}`,
        'GET',
        `/applications/${missing.application}${path}`,
      ),
      ...{ status: 404, code: 'not_found' },
    })),
    post('withdraw what does not exist', {
      ...{ path: `/applications/${missing.application}/withdraw`, status: 404, code: 'not_found' },
    }),
    post('withdraw where it is not permitted', {
      ...{
        path: `/applications/${keptApplicationId}/withdraw`,
        status: 422,
        code: 'withdrawal_not_permitted',
      },
    }),
    {
      ...on('events', 'subscribe to nothing', 'POST', '/subscriptions'),
      ...{ json: { eventTypes: [], callbackUrl: 'ftp://x' }, status: 400, code: 'validation_error' },
    },
    {
      ...on('events', 'replay what does not exist', 'POST', `/subscriptions/${missing.subscription}/replay`),
      ...{ json: since, status: 404, code: 'not_found' },
    },
    {
      ...on('events', 'unsubscribe what does not exist', 'DELETE', `/subscriptions/${missing.subscription}`),
      ...{ status: 404, code: 'not_found' },
    },
  ];
  const successes = operations.map(({ wrongScope: _wrongScope, ...operation }) => ({
    ...operation,
    client: 'partner' as const,
  }));
  // Refusals first: they must find everything as it was.
  return [
    ...refusals,
    ...faults,
    ...successes,
    post('withdraw again', {
      ...{ path: `/applications/${applicationId}/withdraw`, status: 422, code: 'already_withdrawn' },
    }),
  ];
}

const on = (
  of: OperationCase['interface'],
  name: string,
  method: OperationCase['method'],
  path: string,
): OperationCase => ({ name, interface: of, method, path, client: 'partner', status: 200 });
