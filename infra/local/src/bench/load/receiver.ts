// A subscriber's system, as a process of its own. The path of a request says how it is answered: `/<group>/now`,
// `/<group>/<ms>` or `/<group>/never`. Of the group `-` requests are only counted; of any other it is noted when each
// event came. Asked over its channel; ends when that closes.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { moment } from './moment.ts';

export interface ReceiverOptions {
  /** It listens at so many ports: to a client each is a host of its own. */
  hosts: number;
}

export interface Reception {
  subject: string;
  at: number;
}

export interface ReceiverState {
  count: number;
  firstAt: number;
  lastAt: number;
  /** The most at a time. */
  connections: number;
  /** By group. */
  receptions: Record<string, Reception[]>;
}

/** Begins afresh, and says `reached` when so many requests have come; or asks for the state. */
export type ReceiverQuestion = { expect: number } | { state: true };

let state = afresh();
let expected = Infinity;
let open = 0;

process.on('message', (question: ReceiverQuestion) => {
  if ('expect' in question) {
    state = { ...afresh(), connections: open };
    expected = question.expect;
  } else process.send?.({ state });
});
process.on('disconnect', () => process.exit(0));
// Ctrl-C reaches the whole foreground group; this ends with whoever started it.
process.on('SIGINT', () => {});

function answer(request: IncomingMessage, response: ServerResponse): void {
  const [, group = '', how = ''] = (request.url ?? '').split('/');
  const chunks: Buffer[] = [];
  if (group === '-') request.resume();
  else request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (group !== '-') note(group, chunks);
    const say = () => response.writeHead(200, { 'content-length': '0' }).end();
    if (how === 'now') say();
    else if (how !== 'never') setTimeout(say, Number(how));
    count();
  });
}
const { hosts } = JSON.parse(process.argv[2] ?? '') as ReceiverOptions;
const ports = await Promise.all(Array.from({ length: hosts }, listen));
process.send?.({ ports });

async function listen(): Promise<number> {
  const server = createServer(answer);
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket: Socket) => {
    open += 1;
    state.connections = Math.max(state.connections, open);
    socket.on('close', () => (open -= 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function count(): void {
  state.lastAt = moment();
  if (state.count === 0) state.firstAt = state.lastAt;
  state.count += 1;
  if (state.count === expected) process.send?.({ reached: expected });
}

function note(group: string, chunks: Buffer[]): void {
  const { subject } = JSON.parse(Buffer.concat(chunks).toString()) as { subject: string };
  (state.receptions[group] ??= []).push({ subject, at: moment() });
}

function afresh(): ReceiverState {
  return { count: 0, firstAt: 0, lastAt: 0, connections: 0, receptions: {} };
}
