import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Transform } from 'node:stream';
import { freePort } from './free-port.ts';

export interface TcpProxyOptions {
  /** `host:port` */
  to: string;
  /** Begins as after `cut`. */
  away?: boolean;
  /** What each connection's answers pass through; told the proxy's port. */
  answersThrough?: (port: number) => Transform;
}

export interface TcpProxy {
  port: number;
  /** `127.0.0.1:port` */
  address: string;
  /** As when the process at the other end dies: connections are reset, new ones refused, what was under way is lost. */
  cut(): Promise<void>;
  /** As when the process at the other end is frozen: connections are taken, and nothing moves. */
  hang(): void;
  /** As if nothing had been: what hung goes on. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

/** A way to a server that a test can cut and let hang. */
export async function createTcpProxy({
  to,
  away = false,
  answersThrough,
}: TcpProxyOptions): Promise<TcpProxy> {
  const target = new URL(`tcp://${to}`);
  const port = await freePort();
  const sockets = new Set<Socket>();
  let hanging = false;
  let server: Server | undefined;

  const take = (caller: Socket): void => {
    const callee = connect(Number(target.port), target.hostname);
    for (const [socket, other] of [
      [caller, callee],
      [callee, caller],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    caller.on('data', (chunk) => callee.write(chunk));
    if (answersThrough === undefined) callee.on('data', (chunk) => caller.write(chunk));
    else callee.pipe(answersThrough(port)).on('data', (chunk: Buffer) => caller.write(chunk));
    if (hanging) for (const socket of [caller, callee]) socket.pause();
  };
  const open = async (): Promise<void> => {
    if (server !== undefined) return;
    server = createServer(take).listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const cut = async (): Promise<void> => {
    const closing = server;
    server = undefined;
    hanging = false;
    const closed = closing === undefined ? undefined : once(closing, 'close');
    closing?.close();
    for (const socket of sockets) socket.resetAndDestroy();
    await closed;
  };

  if (!away) await open();
  return {
    port,
    address: `127.0.0.1:${port}`,
    cut,
    hang: () => {
      hanging = true;
      for (const socket of sockets) socket.pause();
    },
    restore: async () => {
      hanging = false;
      for (const socket of sockets) socket.resume();
      await open();
    },
    close: cut,
  };
}
