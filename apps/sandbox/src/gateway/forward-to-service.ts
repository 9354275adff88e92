import type { IncomingMessage, ServerResponse } from 'node:http';
import { createProxyMiddleware, debugProxyErrorsPlugin, proxyEventsPlugin } from 'http-proxy-middleware';
import { ApiError, requestIdFor, unavailable, type Logger } from '@assistance/service-kit';
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

/**
 * Say where a request ends and whose it is. Who names one in Connection would have it taken away here, and the body it
 * frames be read by the service as a request of its own.
 */
const neverHopByHop = ['content-length', 'transfer-encoding', 'host'];

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
    const hopByHop = connectionOptionsOf(request);
    if (neverHopByHop.some((name) => hopByHop.includes(name))) {
      answerRefusal(request, response, hidesItsEnd());
      return;
    }
    prepare(request, hopByHop);
    void proxy(request, response);
  };
}

const hidesItsEnd = (): ApiError =>
  new ApiError(
    'bad_request',
    `Connection names one of ${neverHopByHop.join(', ')}, which are never hop-by-hop.`,
    {
      headers: { Connection: 'close' },
    },
  );

const connectionOptionsOf = ({ headers }: IncomingMessage): string[] =>
  (headers.connection ?? '').split(',').map((option) => option.trim().toLowerCase());

function prepare({ headers }: IncomingMessage, hopByHop: string[]): void {
  for (const name of [...notForwarded, ...hopByHop]) delete headers[name];
  if (hopByHop.includes('close')) headers.connection = 'close';
  else delete headers.connection;
  headers['x-request-id'] = requestIdFor(headers['x-request-id']);
}
