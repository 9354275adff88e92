// The limit of deliveries: so many signed POSTs through undici, and nothing else, in a process of its own. Says how many a
// second, and ends.
import { generateSecret, createSigner } from '@assistance/webhook-signature';
import { Pool } from 'undici';
import { syntheticEvent } from './synthetic-event.ts';

export interface BareLoopOptions {
  /** Of the receiver, without a path. */
  url: string;
  posts: number;
  connections: number;
}

const { url, posts, connections } = JSON.parse(process.argv[2] ?? '') as BareLoopOptions;
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});

const sign = createSigner([generateSecret()]);
const events = Array.from({ length: 1_000 }, () => syntheticEvent('document.available'));
const pool = new Pool(url, { connections, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
let begun = 0;

const startedAt = performance.now();
await Promise.all(Array.from({ length: connections }, post));
process.send?.({ perSecond: (posts / (performance.now() - startedAt)) * 1000 }, () => process.disconnect());

async function post(): Promise<void> {
  while (begun < posts) {
    const { id, body } = events[begun % events.length]!;
    begun += 1;
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const answer = await pool.request({
      path: '/-/now',
      method: 'POST',
      headers: {
        'content-type': 'application/cloudevents+json; charset=utf-8',
        ...sign({ id, body, timestampSeconds }),
      },
      body,
    });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`The receiver answered ${answer.statusCode}`);
  }
}
