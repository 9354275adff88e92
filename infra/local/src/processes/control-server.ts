import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { z } from 'zod';
import type { Supervisor } from './supervisor.ts';

const holdRequest = z.strictObject({ hold: z.boolean() });
const largestBodyBytes = 1_024;

interface Answer {
  status: number;
  body: unknown;
}

/**
 * `POST /processes/{name} {hold}` on the loopback interface: keeps a process away, or lets it come back. Answers when
 * it is gone, or started again, with `{name, hold, pid}`.
 */
export async function startControlServer(port: number, supervisor: Supervisor): Promise<{ close(): void }> {
  const server = createServer((request, response) => {
    void answerTo(request, supervisor)
      .catch(() => fault(500, 'internal_error', 'The process could not be held or released.'))
      .then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answerTo(request: IncomingMessage, supervisor: Supervisor): Promise<Answer> {
  const name = /^\/processes\/([\w-]{1,64})$/.exec(request.url ?? '')?.[1];
  const supervised = name === undefined ? undefined : supervisor.find(name);
  if (supervised === undefined) return fault(404, 'not_found', 'There is no such process.');
  if (request.method !== 'POST') return fault(405, 'method_not_allowed', 'Use POST.');
  if (request.headers['content-type'] !== 'application/json') {
    return fault(415, 'unsupported_media_type', 'Send application/json.');
  }
  const parsed = holdRequest.safeParse(await readJson(request));
  if (!parsed.success)
    return fault(400, 'validation_error', 'The body must be {"hold": true} or {"hold": false}.');
  if (parsed.data.hold) await supervised.hold();
  else await supervised.release();
  return { status: 200, body: { name: supervised.name, hold: supervised.held, pid: supervised.pid } };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) {
    text += String(chunk);
    if (text.length > largestBodyBytes) return undefined;
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fault(status: number, code: string, message: string): Answer {
  return { status, body: { code, message, requestId: randomUUID() } };
}
