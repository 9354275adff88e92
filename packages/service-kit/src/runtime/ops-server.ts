import { createServer, type Server } from 'node:http';
import type { Metrics } from './metrics.ts';
import type { Readiness } from './readiness.ts';
import type { Part } from './run-service.ts';

/**
 * Health and metrics on a port of their own, never through a gateway: `/livez` (the process turns), `/readyz` (its
 * dependencies are there; 503 with their names otherwise) and `/metrics` (Prometheus).
 */
export function createOpsServer(options: { port: number; readiness: Readiness; metrics: Metrics }): Part {
  const { port, readiness, metrics } = options;
  const server: Server = createServer((request, response) => {
    const path = request.url?.split('?')[0];
    if (path === '/livez') return sendJson(200, { status: 'live' });
    if (path === '/readyz') {
      const missing = readiness.missing();
      return sendJson(missing.length === 0 ? 200 : 503, {
        status: missing.length === 0 ? 'ready' : 'not_ready',
        missing,
      });
    }
    if (path === '/metrics') {
      void metrics.registry.metrics().then((text) => {
        response.writeHead(200, { 'content-type': metrics.registry.contentType }).end(text);
      });
      return;
    }
    return sendJson(404, { status: 'not_found' });

    function sendJson(status: number, body: unknown): void {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    }
  });
  return {
    name: 'ops-server',
    start: () => new Promise((resolve, reject) => server.once('error', reject).listen(port, resolve)),
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
