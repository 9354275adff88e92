import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '@assistance/service-kit';
import type { Client } from 'pg';
import type { Figure, Row } from '../row.ts';
import type { Bench } from '../stack/bench.ts';
import { dispatching, type Dispatching } from '../stack/dispatching.ts';
import { measureBareLoop } from '../stack/measure-bare-loop.ts';
import { residentMegabytes } from '../stack/processor-time.ts';
import { seedEvents } from '../stack/seed-events.ts';

const type = 'document.available';
const events = 1_000_000;
const warmUp = 20_000;
const lookEveryMs = 250;

export const replay: Row = {
  name: 'replay',
  about: 'a replay of a million events: events a second, and what it takes of memory (some minutes)',
  run: (bench) =>
    dispatching(
      bench,
      {
        subscriptions: [{ types: [type], path: '/-/now' }],
        seed: async (client, [live]) => {
          await seedEvents(client, type, events);
          await openReplay(client, live!);
        },
      },
      (running) => measure(bench, running),
    ),
};

/** As the dispatcher does when one is asked for; what arrived live is delivered already. */
async function openReplay(client: Client, live: number): Promise<void> {
  const { rows } = await client.query<{ lane_no: number }>(
    `insert into lane (subscription_id, shard, replay_id, replay_mode, replay_since, cursor)
     select subscription_id, shard, $2, 'all', now() - interval '2 days', seq_of(now() - interval '2 days')
     from lane where lane_no = $1 returning lane_no::int`,
    [live, newId('rpl')],
  );
  await client.query(
    `insert into span (lane_no, type, from_seq, to_seq)
     select $1, $2, seq_of(now() - interval '2 days'), seq from log_head`,
    [rows[0]!.lane_no, type],
  );
  await client.query('update lane set cursor = (select seq from log_head) where lane_no = $1', [live]);
}

async function measure(bench: Bench, { dispatcher, receiver }: Dispatching): Promise<Figure[]> {
  const connections = 8; // as many as a subscription has by default
  let warm = NaN;
  let most = 0;
  const atTenths: number[] = [];
  let { count, firstAt, lastAt } = await receiver.state();
  while (count < events) {
    bench.signal.throwIfAborted();
    const megabytes = residentMegabytes(dispatcher.pid);
    if (count >= warmUp) {
      if (Number.isNaN(warm)) warm = megabytes;
      most = Math.max(most, megabytes);
    }
    if (count >= (events / 10) * (atTenths.length + 1)) atTenths.push(Math.round(megabytes));
    await sleep(lookEveryMs);
    ({ count, firstAt, lastAt } = await receiver.state());
  }
  const perSecond = (count / (lastAt - firstAt)) * 1000;
  const limit = await measureBareLoop(bench, receiver, { posts: 60_000, connections });
  return [
    {
      what: 'replay of a million events to one subscription',
      value: perSecond,
      unit: '/s',
      limit,
      ratio: perSecond / limit.perSecond,
    },
    {
      what: 'growth of memory meanwhile',
      value: most - warm,
      unit: 'MB',
      limit,
      goal: { atMost: 64 },
      remarks: [`from ${Math.round(warm)} MB after ${warmUp} events; at each tenth ${atTenths.join(', ')}`],
    },
  ];
}
