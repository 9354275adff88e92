import express, { type Express } from 'express';
import helmet from 'helmet';
import {
  createRequestContext,
  mountRoutes,
  type Logger,
  type Metrics,
  type TokenVerifier,
} from '@assistance/service-kit';
import { description } from './operations.ts';
import { routes, type RouteDependencies } from './routes.ts';

export interface AppDependencies extends RouteDependencies {
  verifier: TokenVerifier;
  rateLimitPerSecond: number;
  metrics: Metrics;
  log: Logger;
}

/** The delivery log's HTTP interface; the same for production and for tests. */
export function createApp(deps: AppDependencies): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(createRequestContext(deps));
  app.use(helmet());
  mountRoutes(app, { basePath: description.basePath, routes: routes(deps), ...deps });
  return app;
}
