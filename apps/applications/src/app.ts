import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import helmet from 'helmet';
import {
  createRequestContext,
  mountRoutes,
  type Logger,
  type Metrics,
  type TokenVerifier,
} from '@assistance/service-kit';
import type { ListDeps } from './list-applications.ts';
import type { ReadDeps } from './read-application.ts';
import { description } from './operations.ts';
import { routes } from './routes.ts';
import type { SubmitDeps } from './submit-application.ts';
import type { WithdrawDeps } from './withdraw-application.ts';

export interface AppDeps extends ReadDeps, ListDeps, SubmitDeps, WithdrawDeps {
  verifier: TokenVerifier;
  rateLimitPerSecond: number;
  applicantRefPattern: RegExp | undefined;
  log: Logger;
  metrics: Metrics;
}

/** The HTTP side of the service, the same in production and in tests. */
export function createApp(deps: AppDeps): Express {
  const { verifier, rateLimitPerSecond, log, metrics } = deps;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(createRequestContext({ log, metrics }));
  app.use(helmet());
  app.use(keepOutOfCaches);
  mountRoutes(app, {
    basePath: description.basePath,
    routes: routes(deps),
    verifier,
    rateLimitPerSecond,
    log,
  });
  return app;
}

/** What is told of an application is for this caller at this moment. */
function keepOutOfCaches(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('Cache-Control', 'no-store');
  next();
}
