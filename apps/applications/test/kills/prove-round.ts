import { fileURLToPath } from 'node:url';
import { runCommand, waitUntil } from '@assistance/test-kit';
import { topics } from '@assistance/types';
import type { PrismaClient } from '../../src/generated/prisma/client.ts';
import type { Surroundings } from '../support/run-service.ts';
import type { Submitted } from './submit-under-kills.ts';

const folder = fileURLToPath(new URL('../..', import.meta.url));
/** Longer than the leases and claims of the dead last. */
const SETTLED_WITHIN_MS = 60_000;

/** What does not hold of a round, in words, nothing when all of it holds; and how many rows of the audit were verified. */
export async function faultsOfRound(
  { database, kafka, topicPrefix }: Surroundings,
  prisma: PrismaClient,
  submitted: Submitted[],
): Promise<{ faults: string[]; auditRows: number }> {
  const faults: string[] = [];
  const expectNone = (what: string, found: string[]): void => {
    if (found.length > 0) faults.push(`${what}: ${found.length}, ${found.slice(0, 3).join('; ')}`);
  };
  const undecided = () =>
    prisma.application.count({ where: { status: { in: ['submitted', 'validating'] } } });
  const unsealed = async () => (await prisma.audit.count()) - (await prisma.auditSeal.count());
  const settled = async () =>
    (await undecided()) === 0 && (await prisma.outbox.count()) === 0 && (await unsealed()) === 0;
  await waitUntil(settled, { timeoutMs: SETTLED_WITHIN_MS, intervalMs: 200 }).catch(async () =>
    faults.push(
      `stuck: ${await undecided()} undecided, ${await prisma.outbox.count()} not told, ${await unsealed()} not sealed`,
    ),
  );

  const rows = await prisma.application.findMany({ omit: { answers: true } });
  const byKey = Map.groupBy(rows, ({ idempotencyKey }) => idempotencyKey);
  if (rows.length !== submitted.length)
    faults.push(`${rows.length} applications for ${submitted.length} keys`);
  expectNone(
    'refused',
    submitted.flatMap(({ refusals }) => refusals),
  );
  const faultsOf = ({ key, answers, decision }: Submitted): string[] => {
    const [row, ...more] = byKey.get(key) ?? [];
    const [first, ...others] = new Set(answers);
    if (row === undefined || more.length > 0)
      return [`${key} has ${more.length + (row ? 1 : 0)} applications`];
    if (first === undefined || others.length > 0)
      return [`${key} got ${others.length + 1} different answers`];
    if (!first.includes(row.applicationId)) return [`${key} was told of another application`];
    return row.status === decision ? [] : [`${key} is ${row.status}`];
  };
  expectNone('wrong', submitted.flatMap(faultsOf));
  const audited = await prisma.audit.groupBy({ by: ['applicationId', 'action'], _count: true });
  expectNone(
    'done twice by the audit',
    audited
      .filter(({ _count }) => _count !== 1)
      .map(({ applicationId, action }) => `${applicationId} ${action}`),
  );

  const audit = await runCommand({
    folder,
    command: ['verify-audit'],
    environment: { DATABASE_URL: database.url },
  });
  const auditRows = await prisma.audit.count();
  if (audit.code !== 0 || !audit.output.startsWith(`${auditRows} rows hold,`))
    faults.push(`the audit of ${auditRows} rows: ${audit.output}`);

  const told = await decisionsOnTopic();
  const expected = rows.map(({ applicationId, status }) => `${applicationId} ${status}`);
  const wanted = new Set(expected);
  expectNone(
    'decided and not told',
    expected.filter((each) => !told.has(each)),
  );
  expectNone(
    'told and not decided',
    [...told.keys()].filter((each) => !wanted.has(each)),
  );
  expectNone(
    'told as two events',
    [...told].filter(([, ids]) => ids.size > 1).map(([each]) => each),
  );
  return { faults, auditRows };

  /** The ids of the events for each application and decision. */
  async function decisionsOnTopic(): Promise<Map<string, Set<string>>> {
    const topic = topicPrefix + topics.applicationDecided.name;
    const admin = kafka.admin();
    await admin.connect();
    const ends = await admin.fetchTopicOffsets(topic);
    await admin.disconnect();
    const rest = new Set(ends.filter(({ low, high }) => low !== high).map(({ partition }) => partition));
    const found = new Map<string, Set<string>>();
    const consumer = kafka.consumer({ groupId: `${topicPrefix}proof` });
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ partition, message }) => {
        const { id, data } = JSON.parse(String(message.value));
        const name = `${data.applicationId} ${data.decision}`;
        found.set(name, (found.get(name) ?? new Set()).add(id));
        const end = ends.find((each) => each.partition === partition)!;
        if (Number(message.offset) >= Number(end.high) - 1) rest.delete(partition);
      },
    });
    await waitUntil(() => rest.size === 0, { timeoutMs: SETTLED_WITHIN_MS });
    await consumer.disconnect();
    return found;
  }
}
