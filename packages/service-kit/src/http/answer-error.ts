import type { NextFunction, Request, Response } from 'express';
import type { ErrorBody } from '@assistance/types';
import { isUnavailable } from '../database/sql-state.ts';
import type { Logger } from '../runtime/logger.ts';
import { ApiError, unavailable } from './api-error.ts';
import { boundedDetails } from './bounded-details.ts';
import { contextOf } from './request-context.ts';

/** The one place that decides what a caller sees of an error. What is unknown is 500, logged once, and says nothing. */
export function createAnswerError(log: Logger) {
  // Express recognizes an error handler by its four parameters.
  return (error: unknown, _request: Request, response: Response, _next: NextFunction): void => {
    const context = contextOf(response);
    const apiError = asApiError(error);
    if (apiError.status >= 500) log.error({ requestId: context.requestId, err: error }, 'request.failed');
    context.errorCode = apiError.code;
    if (response.headersSent) {
      response.destroy();
      return;
    }
    for (const [name, value] of Object.entries(apiError.headers)) response.setHeader(name, value);
    sendJson(response, apiError.status, errorBodyOf(apiError, context.requestId));
  };
}

export const errorBodyOf = (error: ApiError, requestId: string): ErrorBody => ({
  code: error.code,
  message: error.message,
  requestId,
  ...(error.details === undefined ? {} : { details: boundedDetails(error.details) }),
});

export function sendJson(response: Response, status: number, body: unknown): void {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  sendBytes(response, status, Buffer.from(JSON.stringify(body)));
}

export function sendBytes(response: Response, status: number, bytes: Buffer): void {
  response.status(status);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof URIError) {
    return new ApiError(
      'bad_request',
      'The path has a percent sign that is not followed by two hexadecimal digits.',
    );
  }
  if (isUnavailable(error)) return unavailable(error);
  return new ApiError(
    'internal_error',
    'Something went wrong on our side. Try again; if it stays, tell support the request id.',
    { cause: error },
  );
}
