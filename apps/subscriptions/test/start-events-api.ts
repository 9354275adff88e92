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
  migrate,
  tokenIssuer,
  type KeyRing,
} from '@assistance/service-kit';
import { createTestDatabase, createTestIssuer } from '@assistance/test-kit';
import { createApp } from '../src/app.ts';
import type { Settings } from '../src/dependencies.ts';
import type { PrismaClient } from '../src/generated/prisma/client.ts';
import { openDatabase } from '../src/open-database.ts';

export interface EventsApi {
  url: string;
  prisma: PrismaClient;
  keyRing: KeyRing;
  issuer: string;
  /** Calls as a client with the scope that the interface needs; never throws for a status. */
  as(clientId: string, scopes?: string[]): Caller;
  /** Calls with whatever headers are given. */
  bare: Caller;
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
  const issuer = await createTestIssuer();
  const prisma = openDatabase({ url: await wayTo(database.url), poolSize: 10 });
  const keyRing = createKeyRing({ current: 'k1', keys: { k1: randomBytes(32).toString('base64') } });
  let wakes = 0;
  const app = createApp({
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
      issuers: [tokenIssuer.parse({ issuer: issuer.issuer })],
      audience: issuer.audience,
    }),
    metrics: createMetrics('subscriptions'),
    log: createLogger({ service: 'subscriptions', level: 'silent' }),
  });
  const server = createHttpServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events/v1`;
  const client = got.extend({ throwHttpErrors: false, retry: { limit: 0 }, followRedirect: false });
  return {
    url,
    prisma,
    keyRing,
    issuer: issuer.issuer,
    as: (clientId, scopes = ['events:manage']) =>
      createCaller(client, url, { authorization: `Bearer ${issuer.token({ clientId, scopes })}` }),
    bare: createCaller(client, url, {}),
    wakes: () => wakes,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await prisma.$disconnect();
      await issuer.close();
      await database.drop();
    },
  };
}

function createCaller(client: Got, url: string, ownHeaders: Record<string, string>): Caller {
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
    return Object.assign(response, { body: isJson ? JSON.parse(response.body) : response.body });
  };
}
