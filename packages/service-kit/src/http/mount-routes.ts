import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { z } from 'zod';
import type { ErrorDetail, Scope } from '@assistance/types';
import type { Caller, TokenVerifier } from '../auth/token-verifier.ts';
import { createAuthenticate } from '../auth/authenticate.ts';
import { requireScope } from '../auth/require-scope.ts';
import type { Operation } from '../openapi/operation.ts';
import type { Logger } from '../runtime/logger.ts';
import { ApiError } from './api-error.ts';
import { createAnswerError, sendBytes, sendJson } from './answer-error.ts';
import { createBodyAllowance, type BodyAllowance } from './body-allowance.ts';
import { jsonFaults } from './json-faults.ts';
import { parseQuery } from './parse-query.ts';
import { createRateLimit, createUnauthorizedLimit } from './rate-limit.ts';
import { bodyBytes, hasBody, readJsonBody, requireJson } from './read-json-body.ts';
import { contextOf } from './request-context.ts';
import { shapeFaults } from './shape-faults.ts';

/** What a verb is given: all of it checked. */
export interface ApiRequest<Body = undefined, Query = unknown> {
  /** Who calls. Absent only on routes without a token. */
  caller: Caller;
  /** The pattern of the path: `/applications/v1/applications/:applicationId`. */
  route: string;
  params: Record<string, string>;
  query: Query;
  body: Body;
  /** Every value of a header, as sent. */
  header(name: string): string[];
  requestId: string;
  /** Adds to the one log line of this request: what it was about, never whom. */
  note(fields: Record<string, unknown>): void;
}

export interface Answer {
  status: number;
  /** Sent as JSON; a string goes as it is, with the Content-Type of `headers`. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Route {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** Below the base path, in Express's form: `/applications/:applicationId`. */
  path: string;
  /** A scope; `any` for every valid token; `none` for no token at all. */
  scope: Scope | 'any' | 'none';
  /** The parameters that it takes: without it none, and on a route without a token whatever comes, unread. */
  query?: z.ZodObject;
  body?: z.ZodType;
  /** The whole body may be absent; then it counts as `{}`. */
  bodyOptional?: boolean;
  /** Faults beyond the shape, reported together with those of the shape. */
  bodyFaults?: (body: unknown) => ErrorDetail[];
  /** Faults of headers; a thrown ApiError comes before those of the body. */
  checkHeaders?: (header: (name: string) => string[]) => void;
  /** What the OpenAPI document says of it. */
  operation?: Operation;
  handle(request: ApiRequest<never, never>): Promise<Answer> | Answer;
}

/** Gives a route's verb the types of its schemas. */
export function route<B extends z.ZodType = z.ZodUndefined, Q extends z.ZodObject = z.ZodObject>(
  definition: Omit<Route, 'handle' | 'body' | 'query'> & {
    body?: B;
    query?: Q;
    handle(request: ApiRequest<z.output<B>, z.output<Q>>): Promise<Answer> | Answer;
  },
): Route {
  return definition;
}

export interface MountOptions {
  basePath: string;
  routes: Route[];
  verifier: TokenVerifier;
  rateLimitPerSecond: number;
  log: Logger;
}

/**
 * Mounts a table of routes with the order of checks of interface-details 1: path (404), method (405), token (401), rate
 * (429), scope (403), media type (415), size (413), JSON, headers, query, shape (400), then the verb. Ends with the one
 * place that answers errors, so it is mounted last.
 */
export function mountRoutes(app: Express, options: MountOptions): void {
  const { basePath, routes, log } = options;
  const router = express.Router({ caseSensitive: true, strict: true });
  const authenticate = createAuthenticate(
    options.verifier,
    createUnauthorizedLimit(options.rateLimitPerSecond),
  );
  const limitRate = createRateLimit(options.rateLimitPerSecond);
  const allowBody = createBodyAllowance();
  for (const path of new Set(routes.map((each) => each.path))) {
    const here = routes.filter((each) => each.path === path);
    const point = router.route(basePath + path);
    for (const each of here) {
      const steps = [
        nameRoute(basePath + path),
        ...(each.scope === 'none' ? [] : [authenticate, limitRate]),
        ...(each.scope === 'none' || each.scope === 'any' ? [] : [requireScope(each.scope)]),
        handle(each, allowBody),
      ];
      point[each.method](...steps);
    }
    point.all(nameRoute(basePath + path), refuseMethod(here));
  }
  app.use(router);
  app.use(refusePath);
  app.use(createAnswerError(log));
}

const nameRoute =
  (name: string) =>
  (_request: Request, response: Response, next: NextFunction): void => {
    contextOf(response).route = name;
    next();
  };

function refuseMethod(routes: Route[]) {
  const methods = routes.map((each) => each.method.toUpperCase());
  const allow = [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].sort().join(', ');
  return (): void => {
    throw new ApiError('method_not_allowed', `This address takes ${allow}.`, { headers: { Allow: allow } });
  };
}

function refusePath(): void {
  throw new ApiError('not_found', 'There is nothing at this address.');
}

const noParameters = z.strictObject({});

function readQuery({ query, scope }: Route, request: Request): unknown {
  if (query === undefined && scope === 'none') return {};
  return parseQuery(query ?? noParameters, request.originalUrl);
}

function handle(route: Route, allowBody: BodyAllowance) {
  return async (request: Request, response: Response): Promise<void> => {
    const context = contextOf(response);
    const header = (name: string): string[] => request.headersDistinct[name.toLowerCase()] ?? [];
    const owner = context.caller?.owner ?? 'nobody';
    const rawBody = await receiveBody(route, request, (read) => allowBody(owner, bodyBytes(request), read));
    route.checkHeaders?.(header);
    const query = readQuery(route, request);
    const body = checkBody(route, rawBody);
    const answer = await route.handle({
      caller: context.caller as Caller,
      route: context.route,
      params: request.params as Record<string, string>,
      query: query as never,
      body: body as never,
      header,
      requestId: context.requestId,
      note: (fields) => (context.notes = { ...context.notes, ...fields }),
    });
    sendAnswer(response, answer);
  };
}

async function receiveBody(
  route: Route,
  request: Request,
  allowed: (read: () => Promise<unknown>) => Promise<unknown>,
): Promise<unknown> {
  if (route.body === undefined) return undefined;
  if (route.bodyOptional === true && !hasBody(request)) return {};
  requireJson(request);
  return allowed(() => readJsonBody(request));
}

function checkBody(route: Route, body: unknown): unknown {
  if (route.body === undefined) return undefined;
  const faults = jsonFaults(body);
  const parsed = route.body.safeParse(body);
  if (!parsed.success) faults.push(...shapeFaults(parsed.error, body));
  faults.push(...(route.bodyFaults?.(body) ?? []));
  if (faults.length === 0) return parsed.data;
  const code = faults.some((fault) => fault.code === 'direct_identifier')
    ? 'direct_identifier'
    : 'validation_error';
  throw new ApiError(
    code,
    code === 'direct_identifier'
      ? 'The body names a person directly. Send an opaque reference instead; see details.'
      : 'The body is not as this operation needs it; see details.',
    { details: faults },
  );
}

function sendAnswer(response: Response, { status, body, headers = {} }: Answer): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (body === undefined) response.status(status).end();
  else if (typeof body === 'string') sendBytes(response, status, Buffer.from(body));
  else sendJson(response, status, body);
}
