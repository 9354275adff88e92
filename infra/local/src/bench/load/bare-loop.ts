// The limit of deliveries: so many signed POSTs through undici, and nothing else, in a process of its own. Says how
// many a second, and ends.
import { generateSecret, createSigner } from '@assistance/webhook-signature';
import { Pool } from 'undici';
import { syntheticEvent } from './synthetic-event.ts';

export interface BareLoopOptions {
  /** Of the receiver, without a path; one for each host. */
  urls: string[];
  posts: number;
  /** To all hosts together. */
  connections: number;
}

export interface BareLoopResult {
  perSecond: number;
  /** Of one POST, on this side. */
  processorMicros: number;
}

const { urls, posts, connections } = JSON.parse(process.argv[2] ?? '') as BareLoopOptions;
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});

const sign = createSigner([generateSecret()]);
const events = Array.from({ length: 1_000 }, () => syntheticEvent('document.available'));
const pools = urls.map(
  (url) =>
    new Pool(url, {
      ...{ connections: Math.ceil(connections / urls.length), pipelining: 1 },
      ...{ headersTimeout: 0, bodyTimeout: 0 },
    }),
);
let begun = 0;

const [startedAt, used] = [performance.now(), process.cpuUsage()];
await Promise.all(Array.from({ length: connections }, (_, index) => post(pools[index % pools.length]!)));
const { user, system } = process.cpuUsage(used);
const result: BareLoopResult = {
  perSecond: (posts / (performance.now() - startedAt)) * 1000,
  processorMicros: (user + system) / posts,
};
process.send?.({ result }, () => process.disconnect());

async function post(pool: Pool): Promise<void> {
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
