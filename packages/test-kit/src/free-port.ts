import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the range from which systems take the ports of outgoing connections, so nobody slips in before its use. */
const lowest = 20_000;
const highest = 32_000;

/** Those that were given out here; who got one may not listen yet. */
const given = new Set<number>();

/** A port on which nothing listens, never the same twice. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(lowest, highest);
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer().listen(port);
    try {
      await once(server, 'listening');
      server.close();
      await once(server, 'close');
      return port;
    } catch {
      // Somebody listens there.
    }
  }
  throw new Error(`No free port was found between ${lowest} and ${highest}`);
}
