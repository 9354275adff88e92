import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import got, { type Got, type Response } from 'got';
import {
  createCursorCodec,
  createHttpServer,
  createKeyRing,
  createLogger,
  createMetrics,
  createTokenVerifier,
  descriptionOf,
  migrate,
  tokenIssuer,
  type KeyRing,
  type KeyRingConfig,
} from '@assistance/service-kit';
import {
  createAnswerCheck,
  createTestDatabase,
  createTestIssuer,
  type AnswerCheck,
  type TestIssuer,
} from '@assistance/test-kit';
import { createApp } from '../src/app.ts';
import type { Dependencies, Settings } from '../src/dependencies.ts';
import type { PrismaClient } from '../src/generated/prisma/client.ts';
import { openDatabase } from '../src/open-database.ts';
import { description } from '../src/operations.ts';
import { routes } from '../src/routes.ts';

export interface EventsApi {
  url: string;
  prisma: PrismaClient;
  keyRing: KeyRing;
  keyRingConfig: KeyRingConfig;
  databaseUrl: string;
  issuer: string;
  /** Calls as a client with the scope that the interface needs; never throws for a status. */
  as(clientId: string, scopes?: string[]): Caller;
  /** Calls as a client of a second issuer that is trusted as well. */
  asOfOtherIssuer(clientId: string): Caller;
  /** Calls with whatever headers are given. */
  bare: Caller;
  /** Every answer is checked against the OpenAPI document; a fault fails the call. */
  check: AnswerCheck;
  /** How often a commit asked the relay to publish. */
  wakes(): number;
  stop(): Promise<void>;
}

export interface Caller {
  (method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response<any>>;
}

/** The interface as main.ts makes it, on a database of its own, with a real issuer. */
export async function startEventsApi(
  settings: Partial<Settings> = {},
  wayTo: (databaseUrl: string) => Promise<string> = async (url) => url,
): Promise<EventsApi> {
  const database = await createTestDatabase({
    template: 'subscriptions',
    migrate: (url) => migrate(url, 'prisma/migrations'),
  });
  const [issuer, otherIssuer] = await Promise.all([createTestIssuer(), createTestIssuer()]);
  const prisma = openDatabase({ url: await wayTo(database.url), poolSize: 10 });
  const keyRingConfig = { current: 'k1', keys: { k1: randomBytes(32).toString('base64') } };
  const keyRing = createKeyRing(keyRingConfig);
  let wakes = 0;
  const deps: Dependencies = {
    prisma,
    wakeRelay: () => (wakes += 1),
    keyRing,
    cursors: createCursorCodec(randomBytes(32)),
    settings: {
      callbackRules: { rules: 'public', allowedNetworks: [] },
      maxSubscriptionsPerClient: 200,
      secretOverlapMs: 86_400_000,
      rateLimitPerSecond: 10_000,
      ...settings,
    },
    verifier: createTokenVerifier({
      issuers: [issuer, otherIssuer].map(({ issuer }) => tokenIssuer.parse({ issuer })),
      audience: issuer.audience,
    }),
    metrics: createMetrics('subscriptions'),
    log: createLogger({ service: 'subscriptions', level: 'silent' }),
  };
  const check = createAnswerCheck(descriptionOf(description, routes(deps)));
  const server = createHttpServer(createApp(deps)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events/v1`;
  const client = got.extend({ throwHttpErrors: false, retry: { limit: 0 }, followRedirect: false });
  const callerWith = (from: TestIssuer, clientId: string, scopes: string[]): Caller =>
    createCaller(client, { url, check }, { authorization: `Bearer ${from.token({ clientId, scopes })}` });
  return {
    url,
    prisma,
    keyRing,
    keyRingConfig,
    databaseUrl: database.url,
    issuer: issuer.issuer,
    as: (clientId, scopes = ['events:manage']) => callerWith(issuer, clientId, scopes),
    asOfOtherIssuer: (clientId) => callerWith(otherIssuer, clientId, ['events:manage']),
    bare: createCaller(client, { url, check }, {}),
    check,
    wakes: () => wakes,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await prisma.$disconnect();
      await Promise.all([issuer.close(), otherIssuer.close()]);
      await database.drop();
    },
  };
}

function createCaller(
  client: Got,
  { url, check }: Pick<EventsApi, 'url' | 'check'>,
  ownHeaders: Record<string, string>,
): Caller {
  return async (method, path, body, headers = {}) => {
    const response = await client(url + path, {
      method: method as 'GET',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...ownHeaders,
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const isJson = response.headers['content-type']?.startsWith('application/json') === true;
    const answered = Object.assign(response, { body: isJson ? JSON.parse(response.body) : response.body });
    const { statusCode: status, headers: sent } = answered;
    const faults = check.faultsOf(method, path, {
      status,
      contentType: sent['content-type'],
      body: answered.body,
    });
    if (faults.length > 0) throw new Error(`Not as described:\n${faults.join('\n')}`);
    return answered;
  };
}
