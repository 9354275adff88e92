import { Agent, type AgentOptions, type ClientRequestArgs } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

type OnConnected = (error: Error | null, socket: Duplex) => void;

const CONNECT_TIMEOUT_MS = 2_000;

/**
 * Keeps connections to the instances of one service open, and connects to another instance when the wanted one does not
 * take the connection. As that happens before a byte of the request is sent, it is safe for every request, and a body
 * need not be held to be sent again.
 */
export class FailoverAgent extends Agent {
  private readonly instances: readonly URL[];
  private readonly detours = new WeakSet<Duplex>();

  constructor(instances: readonly URL[], options: AgentOptions) {
    super({ ...options, keepAlive: true });
    this.instances = instances;
  }

  override createConnection(wanted: ClientRequestArgs, onConnected: OnConnected): undefined {
    const others = this.instances.filter(({ port }) => port !== String(wanted.port));
    const tryNext = (attempts: readonly Attempt[]): void => {
      const [attempt, ...rest] = attempts;
      if (attempt === undefined) return;
      connectTo(attempt, (error, socket) => {
        if (error !== null && rest.length > 0) return tryNext(rest);
        if (attempt.isDetour) this.detours.add(socket);
        onConnected(error, socket);
      });
    };
    tryNext([
      { host: wanted.host ?? '127.0.0.1', port: Number(wanted.port), isDetour: false },
      ...others.map(({ hostname, port }) => ({ host: hostname, port: Number(port), isDetour: true })),
    ]);
  }

  /** A detour is used once, so that an instance that is back gets its requests again. */
  override keepSocketAlive(socket: Duplex): boolean {
    if (this.detours.has(socket)) return false;
    // Node's own answer is a boolean; its types do not say so.
    return super.keepSocketAlive(socket) as unknown as boolean;
  }
}

interface Attempt {
  host: string;
  port: number;
  isDetour: boolean;
}

function connectTo({ host, port }: Attempt, done: OnConnected): void {
  const socket: Socket = connect({ host, port, noDelay: true, keepAlive: true });
  const overdue = setTimeout(() => socket.destroy(new Error('no connection in time')), CONNECT_TIMEOUT_MS);
  const onError = (error: Error): void => {
    clearTimeout(overdue);
    done(error, socket);
  };
  socket.once('error', onError);
  socket.once('connect', () => {
    clearTimeout(overdue);
    socket.off('error', onError);
    done(null, socket);
  });
}
