import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Part } from '../runtime/run-service.ts';
import { ApiError } from './api-error.ts';
import { errorBodyOf } from './answer-error.ts';
import { API_VERSION, requestIdFor } from './request-context.ts';

export const MAX_BODY_BYTES = 256 * 1024;
const MAX_URI_BYTES = 8 * 1024;
const MAX_HEADER_BYTES = 32 * 1024;

/**
 * A server that answers also what HTTP itself refuses with the error body: 400, 408, 413 (declared), 414, 417, 431.
 * Limits: headers within 10 s, whole request within 30 s, idle connections kept for 75 s.
 */
export function createHttpServer(listener: RequestListener): Server {
  const server = createServer(
    {
      requireHostHeader: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 75_000,
      connectionsCheckingInterval: 1_000,
    },
    (request, response) => {
      const refusal = refusalOf(request);
      if (refusal === undefined) listener(request, response);
      else refuse(request, response, refusal);
    },
  );
  server.on('checkExpectation', (request, response) => {
    refuse(
      request,
      response,
      new ApiError('expectation_failed', 'The only expectation met here is 100-continue.'),
    );
  });
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    refuseOnSocket(socket, errorOfParser(error));
  });
  return server;
}

/** The server as a part: takes no new connection on stop, and lets the answers under way be finished. */
export function createHttpPart(server: Server, port: number): Part {
  return {
    name: 'http-server',
    start: () => new Promise((resolve, reject) => server.once('error', reject).listen(port, resolve)),
    stop: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const overdue = setTimeout(() => server.closeAllConnections(), 5_000);
      await closed;
      clearTimeout(overdue);
    },
  };
}

function refusalOf(request: IncomingMessage): ApiError | undefined {
  if (request.httpVersion === '1.1' && (request.headersDistinct['host']?.length ?? 0) !== 1) {
    return new ApiError('bad_request', 'The request must have exactly one Host header.');
  }
  if ((request.url?.length ?? 0) > MAX_URI_BYTES) return uriTooLong();
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return payloadTooLarge();
  return undefined;
}

export const payloadTooLarge = (): ApiError =>
  new ApiError('payload_too_large', `The body is larger than ${MAX_BODY_BYTES} bytes.`, {
    headers: { Connection: 'close' },
  });

const uriTooLong = (): ApiError =>
  new ApiError('uri_too_long', `The address is longer than ${MAX_URI_BYTES} bytes.`);

function errorOfParser(error: NodeJS.ErrnoException & { rawPacket?: Buffer }): ApiError {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    const firstLineEnds = error.rawPacket?.indexOf('\r\n') ?? -1;
    if (firstLineEnds === -1 || firstLineEnds > MAX_URI_BYTES) return uriTooLong();
    return new ApiError('headers_too_large', `The headers are larger than ${MAX_HEADER_BYTES} bytes.`);
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ApiError(
      'request_timeout',
      'The request did not arrive in time: headers within 10 s, all of it within 30 s.',
    );
  }
  return new ApiError('bad_request', 'The request is not well-formed HTTP.');
}

function refuse(request: IncomingMessage, response: ServerResponse, error: ApiError): void {
  const requestId = requestIdFor(request.headers['x-request-id']);
  response.writeHead(error.status, {
    ...error.headers,
    Connection: 'close',
    'Content-Type': 'application/json; charset=utf-8',
    'X-Request-Id': requestId,
    'API-Version': API_VERSION,
  });
  response.end(JSON.stringify(errorBodyOf(error, requestId)));
}

function refuseOnSocket(socket: Socket, error: ApiError): void {
  const requestId = requestIdFor(undefined);
  const body = JSON.stringify(errorBodyOf(error, requestId));
  socket.end(
    [
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
      'Connection: close',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      `API-Version: ${API_VERSION}`,
      '',
      body,
    ].join('\r\n'),
  );
}
