import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the range from which systems take the ports of outgoing connections, so nobody slips in between restarts. */
const lowestPort = 20_000;
const highestPort = 32_000;
const attempts = 100;

/** A port on which nothing listens; `preferred` if that is one. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred !== undefined && (await isFree(preferred))) return preferred;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const port = randomInt(lowestPort, highestPort);
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port was found between ${lowestPort} and ${highestPort}`);
}

/** Whether a server could listen on the port, on all interfaces and on the loopback one. */
export async function isFree(port: number): Promise<boolean> {
  return (await canListen(port)) && (await canListen(port, '127.0.0.1'));
}

async function canListen(port: number, host?: string): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host });
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}
