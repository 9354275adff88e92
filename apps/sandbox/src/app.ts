import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Provider } from 'oidc-provider';
import {
  ApiError,
  createRequestContext,
  mountRoutes,
  type Logger,
  type Metrics,
  type Route,
  type TokenVerifier,
} from '@assistance/service-kit';
import { mountIdentity } from './identity/mount-identity.ts';
import type { Inboxes } from './inbox/inboxes.ts';

/** Per client; enough that a load test meets the services' limits, not this one. */
const RATE_LIMIT_PER_SECOND = 2_000;

export interface AppOptions {
  provider: Provider;
  inboxes: Inboxes | undefined;
  /** The controls below `/sandbox/v1`. */
  routes: Route[];
  verifier: TokenVerifier;
  log: Logger;
  metrics: Metrics;
}

/** The issuer and the controls, and the answer to every address that there is not. */
export function createApp({ provider, inboxes, routes, verifier, log, metrics }: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('case sensitive routing', true);
  app.use(createRequestContext({ log, metrics }));
  app.use(helmet());
  mountIdentity(app, provider);
  // Deliveries are taken before they come here: what is left are other methods, and names of no inbox.
  app.all('/inbox/:name', ({ params }) => {
    if (inboxes?.find(params.name) === undefined)
      throw new ApiError('not_found', 'There is no inbox of this name.');
    throw new ApiError('method_not_allowed', 'This address takes POST.', { headers: { Allow: 'POST' } });
  });
  mountRoutes(app, {
    basePath: '/sandbox/v1',
    routes,
    verifier,
    rateLimitPerSecond: RATE_LIMIT_PER_SECOND,
    log,
  });
  return app;
}
