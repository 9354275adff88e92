import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { createTestIssuer, type TestIssuer } from '@assistance/test-kit';
import {
  createHttpServer,
  createLogger,
  createMetrics,
  createRequestContext,
  createTokenVerifier,
  mountRoutes,
  tokenIssuer,
  type Route,
} from '../../src/index.ts';

export interface Api {
  /** Of the routes, without a slash at the end. */
  url: string;
  port: number;
  server: Server;
  issuer: TestIssuer;
  /** A header `authorization` with a token of this client. */
  as(clientId: string, ...scopes: string[]): { authorization: string };
  stop(): Promise<void>;
}

/** A service with nothing but the given routes, put together as the services do it. */
export async function startApi(
  routes: Route[],
  {
    rateLimitPerSecond = 10_000,
    ...limits
  }: { rateLimitPerSecond?: number } & Parameters<typeof createHttpServer>[1] = {},
): Promise<Api> {
  const issuer = await createTestIssuer();
  const log = createLogger({ service: 'test', level: 'silent' });
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(createRequestContext({ log, metrics: createMetrics('test') }));
  mountRoutes(app, {
    basePath: '/things/v1',
    routes,
    verifier: createTokenVerifier({
      issuers: [tokenIssuer.parse({ issuer: issuer.issuer })],
      audience: issuer.audience,
    }),
    rateLimitPerSecond,
    log,
  });
  const server = createHttpServer(app, limits).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/things/v1`,
    port,
    server,
    issuer,
    as: (clientId, ...scopes) => ({ authorization: `Bearer ${issuer.token({ clientId, scopes })}` }),
    stop: async () => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
      await issuer.close();
    },
  };
}
