import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import got from 'got';
import { moment } from '../load/moment.ts';
import type { Reception } from '../load/receiver.ts';
import type { Receiver } from '../load/start-receiver.ts';
import { submission } from '../load/submission.ts';
import { quantile } from '../median.ts';
import type { Figure, Row } from '../row.ts';
import type { Bench } from '../stack/bench.ts';
import { dispatching } from '../stack/dispatching.ts';
import { freshDatabase, withDatabase } from '../stack/fresh-database.ts';
import { measureMachine } from '../stack/measure-bare-loop.ts';
import { applicationsPath, startApplications, tokenOf } from '../stack/start-applications.ts';

const perSecond = 20;
const seconds = 30;
const warmUpSeconds = 5;
const drainMs = 20_000;

export const submissionLatency: Row = {
  name: 'submission-latency',
  about: 'from a submission to its decision, and to the receiver of the event, at 20 a second',
  run: async (bench) => {
    const limit = await measureMachine(bench);
    const subscriptions = [{ types: ['application.decided'], path: '/decided/now' }];
    return dispatching(bench, { subscriptions }, async ({ receiver, topicPrefix }) => {
      const databaseUrl = await freshDatabase(bench.stack, 'applications');
      const service = await startApplications(bench, { databaseUrl, topicPrefix });
      try {
        const submittedAt = await submitSteadily(bench, service.url);
        const received = await untilReceived(receiver, submittedAt);
        const decided = await decisionTimes(databaseUrl, submittedAt);
        const figure = (what: string, value: number, atMost?: number): Figure => ({
          ...{ what: `submission → ${what}`, value, unit: 'ms', limit },
          ...(atMost === undefined ? {} : { goal: { atMost } }),
        });
        return [
          figure('decision at 20/s, p50', quantile(decided, 0.5)),
          figure('decision at 20/s, p99', quantile(decided, 0.99)),
          figure('event received at 20/s, p50', quantile(received, 0.5), 60),
          figure('event received at 20/s, p99', quantile(received, 0.99), 200),
        ];
      } finally {
        await service.stop();
      }
    });
  },
};

/** When each application was sent, by its id; those of the warm-up are left out. */
async function submitSteadily(bench: Bench, url: string): Promise<Map<string, number>> {
  const headers = { authorization: `Bearer ${tokenOf(bench)}` };
  const submittedAt = new Map<string, number>();
  const sending: Promise<void>[] = [];
  const submit = async (counts: boolean): Promise<void> => {
    const at = moment();
    const { applicationId } = await got
      .post(`${url}${applicationsPath}`, {
        headers: { ...headers, 'idempotency-key': randomUUID() },
        json: submission(),
        retry: { limit: 0 },
      })
      .json<{ applicationId: string }>();
    if (counts) submittedAt.set(applicationId, at);
  };
  const startedAt = performance.now();
  for (let index = 0; index < (warmUpSeconds + seconds) * perSecond; index += 1) {
    await sleep(Math.max(0, startedAt + (index * 1000) / perSecond - performance.now()));
    sending.push(submit(index >= warmUpSeconds * perSecond));
  }
  await Promise.all(sending);
  return submittedAt;
}

async function untilReceived(receiver: Receiver, submittedAt: Map<string, number>): Promise<number[]> {
  const deadline = Date.now() + drainMs;
  for (;;) {
    const { receptions } = await receiver.state();
    // Each is found eligible; what comes of it later is told by a second event.
    const first = new Map<string, number>();
    for (const { subject, at } of (receptions['decided'] ?? []) satisfies Reception[])
      if (!first.has(subject)) first.set(subject, at);
    const times = [...submittedAt].flatMap(([id, at]) => (first.has(id) ? [first.get(id)! - at] : []));
    if (times.length === submittedAt.size) return times;
    if (Date.now() > deadline)
      throw new Error(`Of ${submittedAt.size} decisions ${times.length} were received in time.`);
    await sleep(200);
  }
}

const decisionTimes = (databaseUrl: string, submittedAt: Map<string, number>): Promise<number[]> =>
  withDatabase(databaseUrl, async (client) => {
    const { rows } = await client.query<{ id: string; at: Date }>(
      `select application_id as id, at from application_history
       where status = 'eligible' and application_id = any($1::text[])`,
      [[...submittedAt.keys()]],
    );
    return rows.map(({ id, at }) => at.getTime() - submittedAt.get(id)!);
  });
