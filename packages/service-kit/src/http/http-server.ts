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

/** How long a caller may take (interface-details 1). */
const timeLimits = {
  /** For all headers of a request. */
  headersTimeout: 10_000,
  /** For the whole request. */
  requestTimeout: 30_000,
  /** For the next request on an idle connection. */
  keepAliveTimeout: 75_000,
  /** How often the first two are looked at. */
  connectionsCheckingInterval: 1_000,
};

/** A server that answers also what HTTP itself refuses with the error body: 400, 408, 413 (declared), 414, 417, 431. */
export function createHttpServer(listener: RequestListener, limits: Partial<typeof timeLimits> = {}): Server {
  const answer: RequestListener = (request, response) => {
    const refusal = refusalOf(request);
    if (refusal === undefined) listener(request, response);
    else refuse(request, response, refusal);
  };
  const server = createServer(
    { requireHostHeader: false, maxHeaderSize: MAX_HEADER_BYTES, ...timeLimits, ...limits },
    answer,
  );
  server.on('checkContinue', (request, response) => {
    if (refusalOf(request) === undefined) response.writeContinue();
    answer(request, response);
  });
  server.on('checkExpectation', (request, response) => {
    refuse(
      request,
      response,
      new ApiError('expectation_failed', 'The only expectation met here is 100-continue.'),
    );
  });
  server.on('connect', (_request, socket) => {
    refuseOnSocket(socket as Socket, new ApiError('bad_request', 'This server is no proxy.'));
  });
  server.on('clientError', (error: ParserError, socket: AnsweringSocket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent === true) {
      socket.destroy();
      return;
    }
    refuseOnSocket(socket, errorOfParser(error));
  });
  return server;
}

type ParserError = NodeJS.ErrnoException & { rawPacket?: Buffer };

/** Node keeps the answer that a connection is busy with here; one that has begun cannot be followed by another. */
type AnsweringSocket = Socket & { _httpMessage?: ServerResponse };

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
  // The parser also takes a line without a protocol, which is HTTP 0.9.
  if (request.httpVersionMajor !== 1) return notHttp();
  // Chunks came with HTTP/1.1: who sends them in 1.0 does not agree with others on where the body ends (RFC 9112, 6.1).
  if (request.httpVersion === '1.0' && 'transfer-encoding' in request.headers) return notHttp();
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

const notHttp = (): ApiError => new ApiError('bad_request', 'The request is not well-formed HTTP.');

const uriTooLong = (): ApiError =>
  new ApiError('uri_too_long', `The address is longer than ${MAX_URI_BYTES} bytes.`);

function errorOfParser({ code, rawPacket }: ParserError): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') {
    // The packet in which it became too much: it may be any part of the head.
    const packet = rawPacket?.toString('latin1') ?? '';
    if (new RegExp(`^[A-Z]+ [^\\s]{${MAX_URI_BYTES}}`).test(packet)) return uriTooLong();
    return new ApiError('headers_too_large', `The headers are larger than ${MAX_HEADER_BYTES} bytes.`);
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ApiError(
      'request_timeout',
      'The request did not arrive in time: headers within 10 s, all of it within 30 s.',
    );
  }
  return notHttp();
}

function refuse(request: IncomingMessage, response: ServerResponse, error: ApiError): void {
  const requestId = requestIdFor(request.headers['x-request-id']);
  const body = JSON.stringify(errorBodyOf(error, requestId));
  response.writeHead(error.status, {
    ...error.headers,
    Connection: 'close',
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    'API-Version': API_VERSION,
  });
  response.end(body);
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
