import type { NextFunction, Request, Response } from 'express';
import type { Scope } from '@assistance/types';
import { ApiError } from '../http/api-error.ts';
import { contextOf } from '../http/request-context.ts';
import { challenge } from './token-verifier.ts';

/** 403 unless the token grants the scope (specification 5.4). */
export function requireScope(scope: Scope) {
  return (_request: Request, response: Response, next: NextFunction): void => {
    if (contextOf(response).caller?.scopes.has(scope) !== true) {
      throw new ApiError('insufficient_scope', `This operation needs the scope ${scope}.`, {
        headers: { 'WWW-Authenticate': challenge('insufficient_scope', scope) },
      });
    }
    next();
  };
}
