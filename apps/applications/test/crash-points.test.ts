import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDatabaseAdapter } from '@assistance/service-kit';
import {
  holdStatements,
  waitUntil,
  type Hold,
  type HoldOptions,
  type ServiceProcess,
  type Ways,
} from '@assistance/test-kit';
import { topics } from '@assistance/types';
import { PrismaClient } from '../src/generated/prisma/client.ts';
import { opened } from './support/case-record.ts';
import { createSurroundings, type Surroundings } from './support/run-service.ts';
import { clientOf } from './support/start-service.ts';
import { get, submit } from './support/submission.ts';

// Each test holds the running service at one point, from outside, kills it there, and starts it again.

let surroundings: Surroundings;
let prisma: PrismaClient;
let listener: ReturnType<Surroundings['kafka']['consumer']>;
let ways: Ways;
let service: ServiceProcess;
const heard: { key: string; id: string; what: string }[] = [];

beforeAll(async () => {
  surroundings = await createSurroundings();
  prisma = new PrismaClient({
    adapter: createDatabaseAdapter({ url: surroundings.database.url, poolSize: 2, applicationName: 'test' }),
  });
  ways = await surroundings.createWays();
  listener = surroundings.kafka.consumer({ groupId: `${surroundings.topicPrefix}listener` });
  await listener.connect();
  const told = [topics.intake.name, topics.applicationDecided.name];
  await listener.subscribe({
    topics: told.map((name) => surroundings.topicPrefix + name),
    fromBeginning: true,
  });
  await listener.run({
    eachMessage: async ({ message }) => {
      const { id, data } = JSON.parse(String(message.value));
      heard.push({ key: String(message.key), id, what: data.decision ?? `intake ${data.kind}` });
    },
  });
  await start();
}, 60_000);

afterAll(async () => {
  await listener?.disconnect();
  await prisma?.$disconnect();
  await surroundings?.close();
});

const hold = (table: string, on: HoldOptions['on']): Promise<Hold> =>
  holdStatements({ databaseUrl: surroundings.database.url, table, on });
const caller = () => clientOf({ baseUrl: `${service.url}/applications/v1`, issuer: surroundings.issuer });
const kill = () => service.end('SIGKILL');
/** Time passes: what the dead one had leased and claimed is over. */
const endLeases = async (): Promise<void> => {
  await prisma.outboxMember.deleteMany();
  await prisma.outboxLease.updateMany({ data: { until: null } });
  await prisma.application.updateMany({
    where: { status: 'validating', workDueAt: { not: null } },
    data: { workDueAt: new Date() },
  });
};
const start = async (): Promise<void> => {
  service = await surroundings.start(ways);
  // Its consumer waits until Kafka has given up the dead one.
  const soon = ['kafka-consumer applications'];
  await waitUntil(
    async () => expect(soon).toEqual(expect.arrayContaining(await service.missing())) === undefined,
    {
      timeoutMs: 15_000,
    },
  );
};
const startAgain = async (): Promise<void> => {
  await endLeases();
  await start();
};
const newSubmission = () => ({ key: randomUUID(), body: { applicantRef: `ref-${randomUUID()}` } });
const heardOf = (applicationId: string) => heard.filter(({ key }) => key === applicationId);
const outboxOf = (applicationId: string) => prisma.outbox.count({ where: { key: applicationId } });
const isSettled = (applicationId: string) =>
  waitUntil(
    async () => {
      const { status } = await prisma.application.findUniqueOrThrow({ where: { applicationId } });
      return status === 'eligible' && (await outboxOf(applicationId)) === 0;
    },
    { timeoutMs: 30_000, intervalMs: 100 },
  );

/** All that may be there of an application that is eligible: each thing once. */
async function expectDecidedOnce(applicationId: string): Promise<void> {
  await isSettled(applicationId);
  const history = await prisma.applicationHistory.findMany({
    where: { applicationId },
    orderBy: { version: 'asc' },
  });
  expect(history.map(({ status }) => status)).toEqual(['submitted', 'validating', 'eligible']);
  const audited = await prisma.audit.findMany({ where: { applicationId }, orderBy: { id: 'asc' } });
  expect(audited.map(({ action }) => action)).toEqual([
    'application.submitted',
    'application.validating',
    'application.decided',
  ]);
  const whats = [...new Set(heardOf(applicationId).map(({ id, what }) => `${id} ${what}`))];
  expect(whats.map((each) => each.replace(/^\S+ /, '')).sort()).toEqual(['eligible', 'intake eligible']);
}

test("after the commit of case management's message, before its offset: it comes again and changes nothing", async () => {
  const { body } = await submit(caller(), newSubmission());
  const { applicationId } = body;
  await isSettled(applicationId);
  const committed = async (): Promise<number> => {
    const admin = surroundings.kafka.admin();
    await admin.connect();
    const topic = surroundings.topicPrefix + topics.cases.name;
    const [offsets] = await admin.fetchOffsets({
      groupId: `${surroundings.topicPrefix}applications`,
      topics: [topic],
    });
    await admin.disconnect();
    return Number(offsets?.partitions[0]?.offset);
  };
  await service.untilReady();
  expect(await committed()).toBe(-1);

  const held = await hold('audit', 'insert');
  const producer = surroundings.kafka.producer();
  await producer.connect();
  const { key, value, headers, topic } = opened(applicationId, 'case-7');
  await producer.send({
    topic: surroundings.topicPrefix + topic,
    messages: [{ key, value, headers }],
  });
  await producer.disconnect();
  await held.reached();
  ways.kafka.hang();
  await held.release();
  const caseIdOf = async () => (await get(caller(), `applications/${applicationId}`)).body.caseId;
  await waitUntil(async () => (await caseIdOf()) === 'case-7');
  await kill();
  await ways.kafka.cut();
  await ways.kafka.restore();
  expect(await committed()).toBe(-1);

  await startAgain();
  await waitUntil(async () => (await committed()) === 1, { timeoutMs: 30_000, intervalMs: 200 });
  expect(await caseIdOf()).toBe('case-7');
  const actions = await prisma.audit.findMany({ where: { applicationId, action: 'case.opened' } });
  expect(actions).toHaveLength(1);
}, 90_000);

test('in a submission, before its commit: nothing is kept, nothing was answered, and a repeat is the first', async () => {
  const submission = newSubmission();
  const held = await hold('audit', 'insert');
  const lost = expect(submit(caller(), submission)).rejects.toThrow();
  await held.reached();
  await kill();
  await held.abandon();
  await held.release();
  await lost;
  expect(await prisma.application.count({ where: { idempotencyKey: submission.key } })).toBe(0);

  await startAgain();
  const { status, body, headers } = await submit(caller(), submission);
  expect([status, headers['idempotent-replayed']]).toEqual([201, undefined]);
  await expectDecidedOnce(body.applicationId);
  expect(heardOf(body.applicationId)).toHaveLength(2);
}, 60_000);

test('in a submission, after its commit and before the answer: it is kept, and a repeat is told of it', async () => {
  const submission = newSubmission();
  const held = await hold('audit', 'insert');
  const lost = expect(submit(caller(), submission)).rejects.toThrow();
  await held.reached();
  await kill();
  // Postgres does not know yet that its caller is gone, and ends the statement.
  await held.release();
  await lost;
  const kept = await waitUntil(() =>
    prisma.application.findFirst({ where: { idempotencyKey: submission.key } }),
  );

  await startAgain();
  const { status, body, headers } = await submit(caller(), submission);
  expect([status, headers['idempotent-replayed']]).toEqual([201, 'true']);
  expect(body.applicationId).toBe(kept.applicationId);
  expect(await prisma.application.count({ where: { idempotencyKey: submission.key } })).toBe(1);
  await expectDecidedOnce(kept.applicationId);
}, 60_000);

test('in deciding, between the claim and the transition, so before its outbox rows are committed: nothing is told; the claim ends, and it is decided once', async () => {
  const held = await hold('outbox', 'insert');
  const { body } = await submit(caller(), newSubmission());
  const { applicationId } = body;
  await held.reached();
  await kill();
  await held.abandon();
  await held.release();
  expect(await prisma.application.findUnique({ where: { applicationId } })).toMatchObject({
    status: 'validating',
    version: 2,
  });
  expect(await outboxOf(applicationId)).toBe(0);

  await startAgain();
  await expectDecidedOnce(applicationId);
  expect(heardOf(applicationId)).toHaveLength(2);
}, 60_000);

test('after the commit, before publishing: it is in the outbox, and published once', async () => {
  ways.kafka.hang();
  const { body } = await submit(caller(), newSubmission());
  const { applicationId } = body;
  await waitUntil(async () => (await outboxOf(applicationId)) === 2);
  // The relay has taken them up, and waits for Kafka.
  await waitUntil(async () => (await service.metric('outbox_oldest_seconds')) > 0);
  await kill();
  // What was on its way is lost, not late.
  await ways.kafka.cut();
  await ways.kafka.restore();
  expect([await outboxOf(applicationId), heardOf(applicationId)]).toEqual([2, []]);

  await startAgain();
  await expectDecidedOnce(applicationId);
  expect(heardOf(applicationId)).toHaveLength(2);
}, 60_000);

test('after publishing, before the delete: it is published again, as the same events', async () => {
  const held = await hold('outbox', 'delete');
  const { body } = await submit(caller(), newSubmission());
  const { applicationId } = body;
  await held.reached();
  await waitUntil(() => heardOf(applicationId).length === 2);
  await kill();
  await held.abandon();
  await held.release();
  expect(await outboxOf(applicationId)).toBe(2);

  await startAgain();
  await expectDecidedOnce(applicationId);
  await waitUntil(() => heardOf(applicationId).length === 4);
  expect(new Set(heardOf(applicationId).map(({ id }) => id)).size).toBe(2);
}, 60_000);
