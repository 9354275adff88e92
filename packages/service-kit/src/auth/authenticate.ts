import type { RequestHandler } from 'express';
import { ApiError } from '../http/api-error.ts';
import { contextOf } from '../http/request-context.ts';
import { challenge, type TokenVerifier } from './token-verifier.ts';

/**
 * Knows the caller from its bearer token, or answers 401 with a challenge (RFC 6750); a flood of refused tokens from one
 * address is answered 429 instead.
 */
export function createAuthenticate(
  verifier: TokenVerifier,
  limitUnauthorized: RequestHandler,
): RequestHandler {
  return async (request, response, next) => {
    try {
      // Node would take the first of several; another on the way may have taken the last.
      const [authorization = '', ...more] = request.headersDistinct['authorization'] ?? [];
      const token = /^Bearer +(\S+)$/i.exec(authorization.trim())?.[1];
      if (token === undefined || more.length > 0) throw missingToken();
      contextOf(response).caller = await verifier.verify(token);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      await limitUnauthorized(request, response, (limited?: unknown) => next(limited ?? error));
      return;
    }
    next();
  };
}

const missingToken = (): ApiError =>
  new ApiError('token_missing', 'Send one access token: Authorization: Bearer <token>.', {
    headers: { 'WWW-Authenticate': challenge() },
  });
