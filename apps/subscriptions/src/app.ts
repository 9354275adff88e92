import express, { type Express } from 'express';
import helmet from 'helmet';
import { createRequestContext, mountRoutes } from '@assistance/service-kit';
import type { Dependencies } from './dependencies.ts';
import { description } from './operations.ts';
import { routes } from './routes.ts';

/** The events interface (specification 4.2), in production and in tests alike. */
export function createApp(deps: Dependencies): Express {
  const { log, metrics, verifier, settings } = deps;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(createRequestContext({ log, metrics }));
  app.use(helmet());
  mountRoutes(app, {
    basePath: description.basePath,
    routes: routes(deps),
    verifier,
    rateLimitPerSecond: settings.rateLimitPerSecond,
    log,
  });
  return app;
}
