import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Caller } from '../chaos/load/caller.ts';
import type { Platform } from '../platform/platform-file.ts';

const created = z.object({ subscriptionId: z.string() });
const received = z.object({ id: z.string(), data: z.record(z.string(), z.unknown()) });

/** Enough for each dispatcher to own some, wherever their ids hash to. */
const ofDocuments = 16;

export interface Reception {
  /** Milliseconds since 1970. */
  at: number;
  /** The path of the subscription's callback. */
  path: string;
  id: string;
  data: Record<string, unknown>;
}

/** Subscriptions of documents and one of decisions, and the system that receives for all of them. */
export interface Subscribers {
  /** Of documents, by the path at which each receives. */
  documents: Map<string, { subscriptionId: string }>;
  /** In the order in which they came, refused ones too. */
  receptions: Reception[];
  /** From now on: how each delivery is answered. At first 204, at once. */
  answer(how: { status: number; delayMs: number }): void;
  close(): Promise<void>;
}

export async function startSubscribers(platform: Platform, caller: Caller): Promise<Subscribers> {
  const receptions: Reception[] = [];
  let how = { status: 204, delayMs: 0 };
  const server = createServer((request, response) => {
    void receive(request).then(
      () => response.writeHead(how.status).end(),
      () => response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function receive(request: IncomingMessage): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, data } = received.parse(JSON.parse(Buffer.concat(chunks).toString()));
    receptions.push({ at: Date.now(), path: request.url ?? '', id, data });
    await sleep(how.delayMs);
  }

  async function subscribe(path: string, type: string): Promise<{ subscriptionId: string }> {
    const { body } = await caller.untilAnswered({
      method: 'post',
      url: `${platform.events}/subscriptions`,
      json: { eventTypes: [type], callbackUrl: base + path },
    });
    return created.parse(body);
  }

  await subscribe('/decisions', 'application.decided');
  const documents = new Map<string, { subscriptionId: string }>();
  for (let n = 0; n < ofDocuments; n++) {
    documents.set(`/documents/${n}`, await subscribe(`/documents/${n}`, 'document.available'));
  }
  return {
    documents,
    receptions,
    answer: (next) => (how = next),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
