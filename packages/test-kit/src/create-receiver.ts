import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { listen } from './listen.ts';
import { waitUntil } from './wait-until.ts';

export interface Received {
  receivedAt: Date;
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** Exactly as it came. */
  body: string;
  bytes: Buffer;
}

export interface Answer {
  /** Default: 204. */
  status?: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** How long to wait before the answer. */
  delayMs?: number;
}

export interface Receiver {
  /** Ends without a slash. Every path is received. */
  url: string;
  /** In the order in which they came. */
  received: Received[];
  /** How to answer from now on; `number` counts the requests from 1. A promise that stays open answers never. */
  respond(answer: (request: Received, number: number) => Answer | Promise<Answer>): void;
  /** The first request, come or coming, that the predicate accepts. */
  waitFor(predicate: (request: Received) => boolean, timeoutMs?: number): Promise<Received>;
  /** All requests, as soon as there are at least so many. */
  waitForCount(count: number, timeoutMs?: number): Promise<Received[]>;
  close(): Promise<void>;
}

/** A subscriber's endpoint: a real HTTP server that remembers all it gets and answers as told. */
export async function createReceiver({ port }: { port?: number } = {}): Promise<Receiver> {
  const received: Received[] = [];
  let answerTo: (request: Received, number: number) => Answer | Promise<Answer> = () => ({});

  const server = createServer(async (incoming, response) => {
    try {
      const request = await receive(incoming);
      const number = received.push(request);
      const { status = 204, headers = {}, body, delayMs = 0 } = await answerTo(request, number);
      if (delayMs > 0) await sleep(delayMs);
      response.writeHead(status, headers).end(body);
    } catch {
      response.destroy(); // the sender broke off
    }
  });
  const { url, close } = await listen(server, port);

  return {
    url,
    received,
    respond: (answer) => {
      answerTo = answer;
    },
    waitFor: (predicate, timeoutMs = 10_000) =>
      wait('a certain request', () => received.find(predicate), timeoutMs),
    waitForCount: (count, timeoutMs = 10_000) =>
      wait(`${count} requests`, () => (received.length >= count ? received : undefined), timeoutMs),
    close,
  };

  async function wait<T>(what: string, check: () => T, timeoutMs: number): Promise<NonNullable<T>> {
    try {
      return await waitUntil(check, { timeoutMs, intervalMs: 5 });
    } catch (cause) {
      throw new Error(`Waited ${timeoutMs} ms for ${what}; ${received.length} came`, { cause });
    }
  }
}

async function receive(incoming: IncomingMessage): Promise<Received> {
  const receivedAt = new Date();
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const bytes = Buffer.concat(chunks);
  return {
    receivedAt,
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers: incoming.headers,
    body: bytes.toString('utf8'),
    bytes,
  };
}
