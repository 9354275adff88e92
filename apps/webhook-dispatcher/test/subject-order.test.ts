import { afterAll, expect, test } from '@jest/globals';
import { newId } from '@assistance/service-kit';
import { waitUntil } from '@assistance/test-kit';
import { createSurroundings, startDispatcher, type Dispatcher } from './start-dispatcher.ts';

const surroundings = await createSurroundings();
afterAll(() => surroundings.close(), 30_000);
const receiver = await surroundings.receive();
const { prisma } = surroundings;

const SUBSCRIBERS = 3;
const SUBJECTS = Array.from({ length: 8 }, () => newId('doc'));

interface Instance {
  dispatcher: Dispatcher;
  owner: string;
}

async function start(): Promise<Instance> {
  const before = await owners();
  const dispatcher = await startDispatcher(surroundings, {
    RETRY_BASE_MS: '50',
    RETRY_FACTOR: '1',
    RETRY_MAX_ATTEMPTS: '1000',
    FAILING_AFTER_MS: '3600000',
  });
  const owner = await waitUntil(async () => (await owners()).find((each) => !before.includes(each)));
  return { dispatcher, owner };
}

const owners = async (): Promise<string[]> => (await prisma.shardMember.findMany()).map(({ owner }) => owner);

/** Its leases end at once, as they do when it has not been heard of for 10 s. It is not told. */
async function endLeases({ owner }: Instance): Promise<void> {
  await prisma.shardMember.deleteMany({ where: { owner } });
  await prisma.shardLease.updateMany({ where: { owner }, data: { until: null } });
}

const untilItOwns = ({ owner }: Instance, shards: number): Promise<unknown> =>
  waitUntil(
    async () => (await prisma.shardLease.count({ where: { owner, until: { gt: new Date() } } })) === shards,
    { timeoutMs: 20_000 },
  );

const published = new Map<string, string[]>(SUBJECTS.map((subject) => [subject, []]));
async function publish(rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const subject of SUBJECTS) {
      published.get(subject)!.push(...(await surroundings.publishEvents(1, { subject })));
    }
  }
}

/** What each subscriber received of each subject, each id where it came first. */
function firstReceptions(subscriber: number, subject: string): string[] {
  const ids = receiver.received
    .filter(({ path, body }) => path === `/${subscriber}` && body.includes(subject))
    .map(({ headers }) => String(headers['webhook-id']));
  return [...new Set(ids)];
}

test('with order per subject first receptions are in order through failures, kills, and two that both believe they own a shard', async () => {
  // Every fourth fails, and is tried again until it passes.
  receiver.respond((_request, number) => ({ status: number % 4 === 0 ? 500 : 204, delayMs: 5 }));
  const doomed = await start();
  for (let n = 0; n < SUBSCRIBERS; n++) {
    await surroundings.subscribe({ callbackUrl: `${receiver.url}/${n}`, ordering: 'subject' });
  }
  await untilItOwns(doomed, 64);
  const frozen = await start();
  await untilItOwns(frozen, 32);
  await publish(5);

  await Promise.all([publish(3), doomed.dispatcher.kill()]);
  await endLeases(doomed);
  await untilItOwns(frozen, 64);
  await publish(5);

  const last = await start();
  frozen.dispatcher.process.freeze();
  await endLeases(frozen);
  await untilItOwns(last, 64);
  // What it had begun has been begun again by the other. It wakes, and knows nothing of that.
  await publish(3);
  frozen.dispatcher.process.thaw();
  await publish(5);

  const count = published.get(SUBJECTS[0]!)!.length * SUBJECTS.length * SUBSCRIBERS;
  await waitUntil(async () => (await prisma.delivery.count()) === count, { timeoutMs: 30_000 });
  for (let subscriber = 0; subscriber < SUBSCRIBERS; subscriber++) {
    for (const subject of SUBJECTS) {
      expect(firstReceptions(subscriber, subject)).toEqual(published.get(subject));
    }
  }
  // It has noticed, and shares with the other again.
  await untilItOwns(frozen, 32);
}, 90_000);
