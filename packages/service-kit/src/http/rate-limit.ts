import type { Request, Response } from 'express';
import { ipKeyGenerator, rateLimit, type RateLimitRequestHandler } from 'express-rate-limit';
import { ApiError } from './api-error.ts';
import { FixedWindowStore } from './fixed-window-store.ts';
import { contextOf } from './request-context.ts';

const WINDOW_MS = 1_000;

/** Per owner and instance; `RateLimit` and `RateLimit-Policy` as in the IETF draft 8; 429 with `Retry-After`. */
export const createRateLimit = (perSecond: number): RateLimitRequestHandler =>
  createLimit(perSecond, (_request, response) => contextOf(response).caller?.owner ?? 'nobody');

/** Floods of refused tokens, per address: asked only once a token has been refused. */
export const createUnauthorizedLimit = (perSecond: number): RateLimitRequestHandler =>
  createLimit(perSecond, (request) => ipKeyGenerator(request.ip ?? 'unknown'));

function createLimit(
  perSecond: number,
  keyGenerator: (request: Request, response: Response) => string,
): RateLimitRequestHandler {
  return rateLimit({
    windowMs: WINDOW_MS,
    limit: perSecond,
    store: new FixedWindowStore(WINDOW_MS),
    standardHeaders: 'draft-8',
    legacyHeaders: false,
    validate: false,
    keyGenerator,
    handler: (_request, _response, next) => {
      next(
        new ApiError('rate_limited', 'Too many requests. Wait for the time in Retry-After, then go on.', {
          headers: { 'Retry-After': '1' },
        }),
      );
    },
  });
}
