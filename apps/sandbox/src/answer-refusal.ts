import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';
import { API_VERSION, errorBodyOf, requestIdFor, type ApiError } from '@assistance/service-kit';

const setSafeHeaders = helmet();

/** The error body on a bare response, for what does not pass through Express. */
export function answerRefusal(request: IncomingMessage, response: ServerResponse, error: ApiError): void {
  const requestId = requestIdFor(request.headers['x-request-id']);
  setSafeHeaders(request, response, () => undefined);
  response.setHeader('X-Request-Id', requestId);
  response.setHeader('API-Version', API_VERSION);
  for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
  const body = JSON.stringify(errorBodyOf(error, requestId));
  response.writeHead(error.status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
  });
  response.end(body);
}
