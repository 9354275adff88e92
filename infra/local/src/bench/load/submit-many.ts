// Submits so many applications, each with a key of its own, over so many connections, in a process of its own. Says how many
// a second, and ends.
import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { submission } from './submission.ts';

export interface SubmitManyOptions {
  /** Without a path. */
  url: string;
  path: string;
  token: string;
  count: number;
  connections: number;
}

const { url, path, token, count, connections } = JSON.parse(process.argv[2] ?? '') as SubmitManyOptions;
process.on('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});

const pool = new Pool(url, { connections, pipelining: 1 });
let begun = 0;
const startedAt = performance.now();
await Promise.all(Array.from({ length: connections }, submit));
process.send?.({ perSecond: (count / (performance.now() - startedAt)) * 1000 }, () => process.disconnect());

async function submit(): Promise<void> {
  while (begun < count) {
    begun += 1;
    const answer = await pool.request({
      path,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        'idempotency-key': randomUUID(),
      },
      body: JSON.stringify(submission()),
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 201) throw new Error(`A submission was answered ${answer.statusCode}: ${text}`);
  }
}
