import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { MAX_BODY_BYTES, payloadTooLarge } from '@assistance/service-kit';
import { answerRefusal } from '../answer-refusal.ts';
import type { Inbox } from './inbox.ts';

/**
 * Takes a delivery and answers as the inbox was set. Works on the bare request, past Express: it is also what
 * deliveries are measured against. Rejects when the request could not be kept; then it is not acknowledged.
 */
export async function receiveDelivery(
  inbox: Inbox,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBytes(request);
  if (body === undefined) return answerRefusal(request, response, payloadTooLarge());
  const { status, delayMs } = await inbox.take(request.headers, body, new Date());
  if (delayMs > 0) await wait(delayMs);
  const text = status < 300 || status === 304 ? '' : `This inbox was asked to answer ${status}.`;
  response.writeHead(status, { 'content-type': 'text/plain', 'content-length': text.length }).end(text);
}

/** Undefined when the body is larger than any delivery. */
function readBytes(request: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_BODY_BYTES) resolve(undefined);
      else chunks.push(chunk);
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
    request.on('error', reject);
  });
}
