import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { connectProducer, messagesOf } from '../bench/load/publish-events.ts';
import { syntheticEvent } from '../bench/load/synthetic-event.ts';
import type { Reception } from './start-subscribers.ts';
import type { Stage } from './stage.ts';

const everyMs = { document: 20, submission: 200, test: 500 };
const allReceivedWithinMs = 60_000;

const submitted = z.object({ applicationId: z.string() });
const tested = z.object({ eventId: z.string() });

/** From what a caller was told to what a subscriber received; and from a caller's question to its answer. */
export const ways = [
  'published → received',
  'submitted → decision received',
  'test asked for → received',
  'submission → answered',
] as const;
export type Way = (typeof ways)[number];

export interface Traffic {
  /** Publishes and asks nothing more; resolves when all that is owed was received. */
  finish(): Promise<void>;
  /** The longest that anything waited, in ms, by its way. */
  longestWaits(): Record<Way, number>;
  /** What was received more than once: for each the times at which it came. */
  doubled(): number[][];
}

/** Documents, applications and tests at a steady pace, until it is finished. */
export async function startTraffic({
  victim,
  caller,
  subscribers,
  topicPrefix,
  signal,
}: Stage): Promise<Traffic> {
  const { addresses: platform } = victim;
  const producer = await connectProducer(platform.kafka);
  const paths = [...subscribers.documents.keys()];
  const firstReception = subscribers.receptions.length;
  /** When the caller was told, by what is owed. */
  const owed = new Map<string, { way: Way; since: number }>();
  let longestAnswerMs = 0;
  let finishing = false;
  const going = [
    keepDoing(everyMs.document, publish),
    keepDoing(everyMs.submission, submit),
    keepDoing(everyMs.test, askForTest),
  ];
  for (const one of going) one.catch(() => {}); // heard of in finish
  return { finish, longestWaits, doubled };

  async function keepDoing(pauseMs: number, once: () => Promise<void>): Promise<void> {
    const under = new Set<Promise<void>>();
    while (!finishing) {
      const one = once();
      under.add(one);
      void one.then(
        () => under.delete(one),
        () => {},
      );
      await sleep(pauseMs, undefined, { signal });
    }
    await Promise.all(under);
  }

  async function publish(): Promise<void> {
    const event = syntheticEvent('document.available');
    await producer.sendBatch({ acks: -1, topicMessages: messagesOf([event], topicPrefix) });
    const since = Date.now();
    for (const path of paths) owed.set(`${path} ${event.id}`, { way: 'published → received', since });
  }

  async function submit(): Promise<void> {
    const askedAt = Date.now();
    const { body } = await caller.untilAnswered({
      method: 'post',
      url: `${platform.applications}/applications`,
      headers: { 'idempotency-key': randomUUID() },
      json: {
        programCode: 'TAKE-OVER',
        channel: 'web',
        applicantRef: `applicant-${randomUUID()}`,
        answers: {},
      },
    });
    longestAnswerMs = Math.max(longestAnswerMs, Date.now() - askedAt);
    const { applicationId } = submitted.parse(body);
    owed.set(`decision ${applicationId}`, { way: 'submitted → decision received', since: Date.now() });
  }

  async function askForTest(): Promise<void> {
    const path = paths[Math.floor(Math.random() * paths.length)]!;
    const { subscriptionId } = subscribers.documents.get(path)!;
    const url = `${platform.events}/subscriptions/${subscriptionId}/test`;
    const { eventId } = tested.parse((await caller.untilAnswered({ method: 'post', url })).body);
    owed.set(`${path} ${eventId}`, { way: 'test asked for → received', since: Date.now() });
  }

  async function finish(): Promise<void> {
    finishing = true;
    await Promise.all(going);
    await producer.disconnect();
    const giveUpAt = Date.now() + allReceivedWithinMs;
    for (;;) {
      const came = firstTimes();
      const missing = [...owed.keys()].filter((key) => !came.has(key)).length;
      if (missing === 0) return;
      if (Date.now() > giveUpAt)
        throw new Error(`${missing} of ${owed.size} were not received within a minute`);
      await sleep(50, undefined, { signal });
    }
  }

  function longestWaits(): Record<Way, number> {
    const longest = Object.fromEntries(ways.map((way) => [way, 0])) as Record<Way, number>;
    const came = firstTimes();
    for (const [key, { way, since }] of owed) {
      longest[way] = Math.max(longest[way], (came.get(key) ?? Infinity) - since);
    }
    return { ...longest, 'submission → answered': longestAnswerMs };
  }

  function firstTimes(): Map<string, number> {
    const times = new Map<string, number>();
    for (const reception of newReceptions()) {
      const key = keyOf(reception);
      if (!times.has(key)) times.set(key, reception.at);
    }
    return times;
  }

  function doubled(): number[][] {
    const times = Map.groupBy(newReceptions(), ({ path, id }) => `${path} ${id}`);
    return [...times.values()].filter(({ length }) => length > 1).map((all) => all.map(({ at }) => at));
  }

  function newReceptions(): Reception[] {
    return subscribers.receptions.slice(firstReception);
  }
}

/** The first decision about an application is the one that its submission is owed. */
const keyOf = ({ path, id, data }: Reception): string =>
  path === '/decisions' ? `decision ${String(data['applicationId'])}` : `${path} ${id}`;
