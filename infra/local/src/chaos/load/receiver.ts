// A subscriber's system, as a process of its own: `receiver.ts <port> <file>`. Writes down each request before it answers.
// Told how to answer over its channel (see Behaviour); tells how many answers it is about to give. Ends when the channel
// closes.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { appendTo } from '../ledger/json-lines.ts';
import type { ReceptionLine } from '../ledger/ledger-lines.ts';

/** How to answer, and the secret that signatures are to fit. */
export interface Behaviour {
  status: number;
  /** Between these, at random. */
  delayMs: [least: number, most: number];
  /** Refuses the first attempt of one event in so many; 0 refuses none. */
  refuseOneIn: number;
  secret: string;
}

type ReceivedEvent = Pick<ReceptionLine, 'id' | 'type' | 'subject' | 'data'> & { time: string };

const [port, file] = process.argv.slice(2);
const write = appendTo<ReceptionLine>(file!);
const refusedOnce = new Set<string>();
let behaviour: Behaviour | undefined;
let answering = 0;

process.on('message', (told: Behaviour) => (behaviour = told));
process.on('disconnect', () => process.exit(0));
// Ctrl-C reaches the whole foreground group; this ends with whoever started it.
process.on('SIGINT', () => {});

createServer((request, response) => {
  void receive(request).then(
    (status) => response.writeHead(status).end(),
    () => response.destroy(), // broke off on its way: nothing was received
  );
}).listen(Number(port), '127.0.0.1', () => process.send?.({ listening: true }));

async function receive(request: IncomingMessage): Promise<number> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  if (behaviour === undefined) return 503;
  const { delayMs, secret } = behaviour;
  count(1);
  try {
    // The answer is decided and written after the pause: what is not written was not taken.
    await sleep(delayMs[0] + Math.random() * (delayMs[1] - delayMs[0]));
    const { id, type, subject, time, data } = JSON.parse(body.toString()) as ReceivedEvent;
    const digest = createHash('sha256').update(body).digest('hex');
    const signed = fits(String(request.headers['x-service-signature']), body, secret);
    const status = answerTo(id, digest);
    const replayId = request.headers['x-service-replay'];
    write({
      ...{ at: Date.now(), status, id, type, subject, digest, signed, data },
      time: Date.parse(time),
      replayId: typeof replayId === 'string' ? replayId : null,
    });
    return status;
  } finally {
    count(-1);
  }
}

function answerTo(id: string, digest: string): number {
  const { status, refuseOneIn } = behaviour!;
  if (status >= 300 || refuseOneIn === 0 || refusedOnce.has(id)) return status;
  if (Number.parseInt(digest.slice(0, 8), 16) % refuseOneIn !== 0) return status;
  refusedOnce.add(id);
  return 500;
}

function fits(header: string, body: Buffer, secret: string): boolean {
  const [, seconds, signature] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header) ?? [];
  if (seconds === undefined || signature === undefined) return false;
  const wanted = createHmac('sha256', secret).update(`${seconds}.`).update(body).digest();
  return timingSafeEqual(wanted, Buffer.from(signature, 'hex'));
}

function count(change: number): void {
  answering += change;
  process.send?.({ answering });
}
