import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { z } from 'zod';
import { processFamily, sendSignal } from '../chaos/disturb/process-family.ts';
import { allLinesOf } from '../chaos/ledger/json-lines.ts';
import type { ReceptionLine } from '../chaos/ledger/ledger-lines.ts';
import { createCaller, type Caller } from '../chaos/load/caller.ts';
import { startReceiver } from '../chaos/load/start-receiver.ts';
import { openPlatform, topicPrefixOf, type Victim } from '../chaos/open-platform.ts';
import { listReplays, proveReplays } from '../chaos/proof/prove-replays.ts';
import { seededRandom } from '../chaos/seeded-random.ts';
import { freePort } from '../machine/free-port.ts';
import { localDirOf, paths } from '../machine/paths.ts';
import { wholeNumber } from '../machine/whole-number.ts';

const usage = 'Usage: npm run replay-kills\nVariables: EVENTS (100000), KILLS (10), SEED (1)';
const type = 'document.available';
const topic = 'assistance.events.document-available.v1';
const dispatcher = 'webhook-dispatcher';
const publishAtOnce = 1_000;
const lookEveryMs = 200;
const withinMs = 1_800_000;

const created = z.object({ subscriptionId: z.string(), signingSecret: z.string() });
const books = z.object({ delivered: z.number() });
const replay = z.object({
  replayId: z.string(),
  status: z.string(),
  progress: z.object({ matched: z.number(), delivered: z.number() }),
});

interface Setting {
  events: number;
  kills: number;
  seed: number;
  folder: string;
}

/** A line in `results.jsonl` for each run that came to its end. Exit code 0 if all of it holds. */
export async function runReplayKills(environment: NodeJS.ProcessEnv, signal: AbortSignal): Promise<number> {
  const whole = (name: string, fallback: number, most: number): number =>
    wholeNumber(environment, { name, fallback, least: 1, most, usage });
  const runs = join(localDirOf(environment), 'replay-kills');
  const setting: Setting = {
    events: whole('EVENTS', 100_000, 1_000_000),
    kills: whole('KILLS', 10, 1_000),
    seed: whole('SEED', 1, 2 ** 32 - 1),
    folder: join(runs, `run-${Date.now()}`),
  };
  const { events, kills, seed, folder } = setting;
  mkdirSync(folder, { recursive: true });
  console.log(`Replay of ${events} events, ${kills} kills, seed ${seed}, in ${relative(paths.root, folder)}`);
  const startedAt = Date.now();
  const victim = await openPlatform(
    folder,
    { ...{ seed, instances: 1, startedAt: [startedAt], subscriptions: {} }, port: await freePort() },
    signal,
  );
  let result: { claims: ReturnType<typeof proveReplays>; tookMs: number; duplicates: number };
  try {
    result = await killDuringReplay(setting, victim, signal);
  } finally {
    await victim.close();
  }
  const { claims, tookMs, duplicates } = result;
  for (const { claim, holds, found } of claims) console.log(`  ${holds ? '✓' : '✗'} ${claim} (${found})`);
  const holds = claims.every((claim) => claim.holds);
  const line = { at: new Date().toISOString(), events, kills, seed, holds, tookMs, duplicates };
  appendFileSync(join(runs, 'results.jsonl'), `${JSON.stringify(line)}\n`);
  const minutes = (ms: number): string => (ms / 60_000).toFixed(1);
  console.log(
    `The replay took ${minutes(tookMs)} minutes, ${duplicates} events came twice in it; all in all ${minutes(Date.now() - startedAt)} minutes.`,
  );
  if (holds) rmSync(folder, { recursive: true, force: true });
  return holds ? 0 : 1;
}

async function killDuringReplay(
  { events, kills, seed, folder }: Setting,
  victim: Victim,
  signal: AbortSignal,
) {
  const { addresses: platform } = victim;
  const caller = createCaller(platform, 'partner', signal);
  const port = await freePort();
  const file = join(folder, 'received.jsonl');
  const receiver = await startReceiver(port, file);
  try {
    const { body } = await caller.untilAnswered({
      method: 'post',
      url: `${platform.events}/subscriptions`,
      json: { eventTypes: [type], callbackUrl: `http://127.0.0.1:${port}/` },
    });
    const { subscriptionId, signingSecret: secret } = created.parse(body);
    receiver.behave({ status: 204, delayMs: [0, 0], refuseOneIn: 0, secret });
    const since = new Date().toISOString();
    await publish(platform.kafka, topicPrefixOf(folder), events, since);
    const reconciliation = `${platform.deliveries}/subscriptions/${subscriptionId}/reconciliation`;
    await until(
      signal,
      async () => books.parse((await get(caller, reconciliation)).body).delivered === events,
    );
    console.log(`  ${events} events are delivered; the replay begins`);

    const url = `${platform.events}/subscriptions/${subscriptionId}`;
    const begunAt = Date.now();
    const asked = await caller.untilAnswered({
      method: 'post',
      url: `${url}/replay`,
      json: { since, mode: 'all' },
    });
    const { replayId } = replay.parse(asked.body);
    const random = seededRandom(seed);
    // Each at a moment of its own share of the way.
    const killAt = Array.from({ length: kills }, (_, n) =>
      Math.floor(((n + random()) / (kills + 1)) * events),
    );
    const delivered: number[] = [];
    await until(signal, async () => {
      const { status, progress } = replay.parse((await get(caller, `${url}/replays/${replayId}`)).body);
      delivered.push(progress.delivered);
      if (status === 'completed') return true;
      if (progress.delivered < (killAt[0] ?? Infinity)) return false;
      killAt.shift();
      const pid = victim.processes()[dispatcher];
      if (pid !== undefined) for (const member of processFamily(pid)) sendSignal(member, 'SIGKILL');
      console.log(`  killed at ${progress.delivered} of ${progress.matched}`);
      await until(
        signal,
        async () => (await victim.unready()).length === 0 && victim.processes()[dispatcher] !== pid,
      );
      return false;
    });
    const tookMs = Date.now() - begunAt;
    const receptions = await allLinesOf<ReceptionLine>(file);
    const inReplay = receptions.filter((reception) => reception.replayId === replayId);
    const claims = proveReplays({
      ...{ name: 'the subscriber', receptions, listed: await listReplays(caller, url) },
      watched: new Map([[replayId, { subscriber: 'the subscriber', delivered }]]),
    });
    const received = new Set(inReplay.map(({ id }) => id)).size;
    claims.push(
      {
        claim: 'every event came in the replay',
        holds: received === events,
        found: `${received} of ${events}`,
      },
      {
        claim: 'all kills were made',
        holds: killAt.length === 0,
        found: `${kills - killAt.length} of ${kills}`,
      },
    );
    return { claims, tookMs, duplicates: inReplay.length - received };
  } finally {
    await receiver.close();
  }
}

const get = (caller: Caller, url: string) => caller.untilAnswered({ method: 'get', url });

async function publish(brokers: string[], topicPrefix: string, events: number, time: string): Promise<void> {
  const kafka = new Kafka({ clientId: 'replay-kills', brokers, logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  await producer.connect();
  for (let n = 0; n < events; n += publishAtOnce) {
    const count = Math.min(publishAtOnce, events - n);
    const messages = Array.from({ length: count }, (_, i) => messageOf(n + i, time));
    await producer.send({ topic: topicPrefix + topic, acks: -1, messages });
  }
  await producer.disconnect();
}

function messageOf(n: number, time: string) {
  const subject = `DOC-${n}`;
  const data = { documentId: subject, caseId: null, availableAt: time, sequence: 1 };
  const event = {
    specversion: '1.0',
    id: `replayed-${n}`,
    source: 'documents-system',
    type,
    subject,
    time,
    data,
  };
  return { key: subject, value: JSON.stringify(event) };
}

async function until(signal: AbortSignal, isSo: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + withinMs;
  while (!(await isSo())) {
    if (Date.now() > giveUpAt) throw new Error('The replay did not come to its end within half an hour');
    await sleep(lookEveryMs, undefined, { signal });
  }
}
