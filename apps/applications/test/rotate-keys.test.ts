import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKeyRing, type KeyRingConfig } from '@assistance/service-kit';
import { runCommand, staySilent } from '@assistance/test-kit';
import { rewrapDataKeys } from '../src/retention/rewrap-data-keys.ts';
import { openAnswers } from '../src/submission/seal-answers.ts';
import { clientOf, startService, type Instance, type Service } from './support/start-service.ts';
import { submit, submissionBody, untilStatus } from './support/submission.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));
const [k1, k2] = [1, 2].map(() => randomBytes(32).toString('base64')) as [string, string];
const before: KeyRingConfig = { current: 'k1', keys: { k1, k2 } };
const after: KeyRingConfig = { current: 'k2', keys: { k1, k2 } };
const withoutOld: KeyRingConfig = { current: 'k2', keys: { k2 } };

let service: Service;
beforeAll(async () => {
  service = await startService({ overrides: () => ({ keyRing: createKeyRing(before) }) });
});
afterAll(() => service.stop());

const startInstance = (config: KeyRingConfig): Promise<Instance> =>
  service.startInstance({ keyRing: createKeyRing(config) });
const rotate = (config: KeyRingConfig) =>
  runCommand({
    folder,
    command: ['rotate-keys'],
    environment: { DATABASE_URL: service.databaseUrl, KEY_RING: JSON.stringify(config) },
  });
const keysInUse = async (): Promise<Record<string, number>> => {
  const rows = await service.prisma.application.findMany({ select: { dataKey: true } });
  return Object.fromEntries(
    Object.entries(Object.groupBy(rows, ({ dataKey }) => dataKey?.split('.')[0] ?? 'none')).map(
      ([id, all]) => [id, all?.length ?? 0],
    ),
  );
};

/** Submits one after the other until it is ended, and gives back the answers; every one has to be 201. */
function startLoad(...instances: Pick<Instance, 'baseUrl'>[]) {
  let isOn = true;
  const submissions: { key: string; body: Record<string, unknown>; applicationId: string }[] = [];
  const loops = instances.map(async ({ baseUrl }) => {
    const client = clientOf({ ...service, baseUrl });
    while (isOn) {
      const key = `load-${randomBytes(8).toString('hex')}`;
      const answers = { householdSize: 2, monthlyIncomeCents: 100 };
      const body = submissionBody({ programCode: 'TEST-SCHEMA', answers });
      const answer = await submit(client, { key, body });
      if (answer.status !== 201) throw new Error(`refused: ${JSON.stringify(answer.body)}`);
      submissions.push({ key, body, applicationId: answer.body.applicationId });
    }
  });
  return {
    submissions,
    end: async () => {
      isOn = false;
      await Promise.all(loops);
    },
  };
}

test('keys are rotated under load: nothing fails, and afterwards the old one is not needed for anything', async () => {
  const old = startLoad(service);
  const next = await startInstance(after);
  const both = startLoad(next);
  // An instance that still wraps with the old key is not rolled yet: the command says so, and does no harm.
  const early = await rewrapDataKeys(service.prisma, createKeyRing(after));
  expect(early.unopenable.size).toBe(0);
  await old.end();
  await service.deciding.stop();

  const { code, output } = await rotate(after);
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('All answers are under k2.') });
  await both.end();
  const submissions = [...old.submissions, ...both.submissions];
  expect(await keysInUse()).toEqual({ k2: submissions.length });

  await next.deciding.stop();
  const last = await startInstance(withoutOld);
  const client = clientOf({ ...service, baseUrl: last.baseUrl });
  const ring = createKeyRing(withoutOld);
  for (const { applicationId, body } of submissions) {
    const row = await service.prisma.application.findUniqueOrThrow({ where: { applicationId } });
    const kept = openAnswers(ring, applicationId, { dataKey: row.dataKey!, answers: row.answers! });
    expect(kept).toEqual(body['answers']);
  }
  await untilStatus(client, submissions.at(-1)!.applicationId, 'eligible');
  const first = submissions[0]!;
  const repeat = await submit(client, { key: first.key, body: first.body });
  expect(repeat).toMatchObject({ status: 201, body: { applicationId: first.applicationId } });
  expect(repeat.headers['idempotent-replayed']).toBe('true');
});

test('what a rotation changed is in the audit, without any key', async () => {
  const rows = await service.prisma.audit.findMany({ where: { action: 'answers.keys_rotated' } });
  const counts = rows.map(({ detail }) => (detail as { applications: number }).applications);
  expect(rows[0]).toMatchObject({ actor: 'operator-command', detail: { keyId: 'k2' } });
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
});

test('a row that another holds is passed over, and found by the next walk', async () => {
  const [row] = await service.prisma.application.findMany({ take: 1 });
  const { applicationId } = row!;
  const ring = createKeyRing({
    current: 'k3',
    keys: { ...after.keys, k3: randomBytes(32).toString('base64') },
  });
  const total = await service.prisma.application.count();
  await service.prisma.$transaction(
    async (other) => {
      await staySilent(other);
      await other.$executeRawUnsafe(
        `select 1 from application where application_id = $1 for update`,
        applicationId,
      );
      const walk = await rewrapDataKeys(service.prisma, ring);
      expect(walk).toMatchObject({ found: total, rewrapped: total - 1 });
    },
    { timeout: 60_000 },
  );
  expect(await rewrapDataKeys(service.prisma, ring)).toMatchObject({ found: 1, rewrapped: 1 });
  expect(await rewrapDataKeys(service.prisma, ring)).toMatchObject({ found: 0 });
});

test('a key that is not in the ring is named, and does not hold up the rest', async () => {
  const [lost] = await service.prisma.application.findMany({ take: 1 });
  const gone = createKeyRing({ current: 'gone', keys: { gone: randomBytes(32).toString('base64') } });
  await service.prisma.application.update({
    where: { applicationId: lost!.applicationId },
    data: { dataKey: gone.seal(randomBytes(32), 'anything') },
  });
  const { code, output } = await rotate({ current: 'k4', keys: { k4: randomBytes(32).toString('base64') } });
  expect(code).toBe(1);
  expect(output).toContain('1 data keys are under gone and do not open.');
  expect(output).toMatch(/\d+ data keys are under k3 and do not open\./);
});
