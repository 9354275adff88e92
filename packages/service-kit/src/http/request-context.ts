import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import type { ErrorCode } from '@assistance/types';
import type { Caller } from '../auth/token-verifier.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';

export const API_VERSION = '1.0.0';
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What is known of a request on its way; lives in `response.locals`. */
export interface RequestContext {
  requestId: string;
  /** The pattern of the route, never the path itself: a path may carry what a log must not. */
  route: string;
  caller?: Caller;
  errorCode?: ErrorCode;
  /** What the verb adds to the request's one log line. */
  notes?: Record<string, unknown>;
}

export const contextOf = (response: Response): RequestContext => response.locals['context'] as RequestContext;

/** The caller's own id when it is a uuid, else a new one. */
export const requestIdFor = (header: string | string[] | undefined): string =>
  typeof header === 'string' && UUID.test(header) ? header.toLowerCase() : randomUUID();

/** First step of every request: its id and the interface's version on the answer, and one log line when it is over. */
export function createRequestContext({ log, metrics }: { log: Logger; metrics: Metrics }) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const startedAt = performance.now();
    const requestId = requestIdFor(request.headers['x-request-id']);
    const context: RequestContext = { requestId, route: 'unmatched' };
    response.locals['context'] = context;
    response.setHeader('X-Request-Id', requestId);
    response.setHeader('API-Version', API_VERSION);
    response.on('close', () => {
      const durationMs = performance.now() - startedAt;
      const { method } = request;
      const status = response.writableFinished ? response.statusCode : 499;
      metrics.httpDuration.observe({ method, route: context.route, status }, durationMs / 1000);
      log.info(
        {
          requestId,
          method,
          route: context.route,
          status,
          durationMs: Math.round(durationMs * 10) / 10,
          client: context.caller?.clientId,
          errorCode: context.errorCode,
          ...context.notes,
        },
        'request.answered',
      );
    });
    next();
  };
}
