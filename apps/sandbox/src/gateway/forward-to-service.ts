import type { IncomingMessage, ServerResponse } from 'node:http';
import { createProxyMiddleware, debugProxyErrorsPlugin, proxyEventsPlugin } from 'http-proxy-middleware';
import { requestIdFor, unavailable, type Logger } from '@assistance/service-kit';
import { answerRefusal } from '../answer-refusal.ts';
import { FailoverAgent } from './failover-agent.ts';

/** Longer than a service takes at most, so that its own answer arrives. */
const ANSWER_TIMEOUT_MS = 35_000;
const MAX_CONNECTIONS_PER_INSTANCE = 256;

/** RFC 9110, section 7.6.1: of this connection alone, or claims about it that only the gateway may make. */
const notForwarded = [
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'te',
  'trailer',
  'upgrade',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
];

export type Forward = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Passes requests on to the instances of one service in turn, and its answers back, both as streams. While no instance
 * answers it is 503 `unavailable`. A request that broke off on its way is not sent again: it may have been carried out.
 */
export function forwardToService(options: { prefix: string; instances: string[]; log: Logger }): Forward {
  const { prefix, log } = options;
  const instances = options.instances.map((address) => new URL(address));
  let turn = 0;
  const proxy = createProxyMiddleware({
    agent: new FailoverAgent(instances, { maxSockets: MAX_CONNECTIONS_PER_INSTANCE, maxFreeSockets: 64 }),
    pathFilter: () => true,
    router: () => instances[turn++ % instances.length]!,
    headers: { connection: 'keep-alive' },
    xfwd: true,
    proxyTimeout: ANSWER_TIMEOUT_MS,
    ejectPlugins: true,
    plugins: [debugProxyErrorsPlugin, proxyEventsPlugin],
    on: {
      proxyRes: ({ headers }) => {
        delete headers.connection;
        delete headers['keep-alive'];
      },
      error: (error, request, response) => {
        if (!('writeHead' in response) || response.headersSent || response.destroyed) {
          response.destroy();
          return;
        }
        const requestId = request.headers['x-request-id'];
        log.warn({ prefix, requestId, code: (error as NodeJS.ErrnoException).code }, 'gateway.service_away');
        answerRefusal(request, response, unavailable(error));
      },
    },
  });
  return (request, response) => {
    prepare(request);
    void proxy(request, response);
  };
}

function prepare(request: IncomingMessage): void {
  const { headers } = request;
  const connection = headers.connection?.toLowerCase().split(',') ?? [];
  for (const name of [...notForwarded, ...connection.map((token) => token.trim())]) delete headers[name];
  if (connection.some((token) => token.trim() === 'close')) headers.connection = 'close';
  else delete headers.connection;
  headers['x-request-id'] = requestIdFor(headers['x-request-id']);
}
