import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A service behind the gateway, played by a real HTTP server that can go away and come back on its port. */
export interface Upstream {
  url: string;
  requests: IncomingMessage[];
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

export async function startUpstream(listener: RequestListener): Promise<Upstream> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    goAway: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
    comeBack: async () => {
      await listen(port);
    },
  };
}
