import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDatabaseAdapter } from '@assistance/service-kit';
import { refuseForSpace, waitUntil, type ServiceProcess } from '@assistance/test-kit';
import { PrismaClient } from '../src/generated/prisma/client.ts';
import { createSurroundings, type Surroundings } from './support/run-service.ts';
import { clientOf } from './support/start-service.ts';
import { submit, submitted, untilStatus } from './support/submission.ts';

let surroundings: Surroundings;
let service: ServiceProcess;
let prisma: PrismaClient;

beforeAll(async () => {
  surroundings = await createSurroundings();
  prisma = new PrismaClient({
    adapter: createDatabaseAdapter({ url: surroundings.database.url, poolSize: 1, applicationName: 'test' }),
  });
  service = await surroundings.start(await surroundings.createWays());
  await service.untilReady();
}, 60_000);

afterAll(async () => {
  await prisma?.$disconnect();
  await surroundings?.close();
});

const caller = () => clientOf({ baseUrl: `${service.url}/applications/v1`, issuer: surroundings.issuer });
const complaints = (message: string) =>
  service
    .logLines()
    .filter((line) => line['msg'] === message && JSON.stringify(line).includes('No space left on device'));

test.each(['application', 'application_history', 'audit'])(
  'no space for %s: 503, nothing is kept or acknowledged, one line says why, and then it goes on',
  async (table) => {
    const submission = { key: randomUUID(), body: { applicantRef: randomUUID() } };
    const before = complaints('request.failed').length;
    const space = await refuseForSpace(surroundings.database.url, table);
    const refused = await submit(caller(), submission);
    expect([refused.status, refused.body.code]).toEqual([503, 'unavailable']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(await prisma.application.count({ where: { idempotencyKey: submission.key } })).toBe(0);
    const said = await waitUntil(() => complaints('request.failed').slice(before));
    expect(said).toEqual([expect.objectContaining({ level: 'error', requestId: refused.body.requestId })]);

    await space.lift();
    const accepted = await submit(caller(), submission);
    expect([accepted.status, accepted.headers['idempotent-replayed']]).toEqual([201, undefined]);
    await untilStatus(caller(), accepted.body.applicationId, 'eligible');
  },
);

test('no space for the outbox: no decision is made without its telling; both come when there is space', async () => {
  const space = await refuseForSpace(surroundings.database.url, 'outbox');
  const applicationId = await submitted(caller());
  await waitUntil(() => complaints('loop.failed').length > 0);
  expect(await prisma.application.findUnique({ where: { applicationId } })).toMatchObject({
    status: 'validating',
  });
  await space.lift();
  // The claim ends; here at once, else after 10 s.
  await prisma.application.update({ where: { applicationId }, data: { workDueAt: new Date() } });
  await waitUntil(
    async () => (await prisma.application.findUnique({ where: { applicationId } }))?.status === 'eligible',
    { timeoutMs: 20_000 },
  );
  expect(await prisma.applicationHistory.count({ where: { applicationId } })).toBe(3);
});
