import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLogger, createMetrics } from '@assistance/service-kit';
import { createDecidingMetrics } from '../src/deciding/deciding-metrics.ts';
import { watchOpen } from '../src/deciding/watch-open.ts';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { post, submitted } from './support/submission.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ decide: false });
});
afterAll(() => service.stop());

const silent = createLogger({ service: 'test', level: 'silent' });

test('the age of the oldest application is measured for each open status, and falls when it is settled', async () => {
  const { registry } = createMetrics('applications');
  const metrics = createDecidingMetrics(registry);
  const agesNow = async () => {
    await watchOpen({ sql: service.prisma, metrics, log: silent });
    const { values } = await metrics.oldestSeconds.get();
    return Object.fromEntries(values.map(({ labels, value }) => [labels.status, Math.floor(value / 60)]));
  };
  const client = clientOf(service);
  const old = await submitted(client);
  await submitted(client);
  await service.prisma.application.update({
    where: { applicationId: old },
    data: { submittedAt: new Date(Date.now() - 3_600_000) },
  });
  expect(await agesNow()).toEqual({ submitted: 60, validating: 0, eligible: 0 });
  await post(client, `applications/${old}/withdraw`);
  expect(await agesNow()).toEqual({ submitted: 0, validating: 0, eligible: 0 });
});

test('what is due and not taken up is measured, and said once it is long overdue', async () => {
  const metrics = createDecidingMetrics(createMetrics('applications').registry);
  const warnings: unknown[] = [];
  const log = Object.assign(Object.create(silent), { warn: (line: unknown) => warnings.push(line) });
  const minutesDue = async () => {
    await watchOpen({ sql: service.prisma, metrics, log });
    return Math.floor(((await metrics.dueSeconds.get()).values[0]?.value ?? NaN) / 60);
  };
  const applicationId = await submitted(clientOf(service));
  expect(await minutesDue()).toBe(0);
  expect(warnings).toEqual([]);
  await service.prisma.application.update({
    where: { applicationId },
    data: { workDueAt: new Date(Date.now() - 600_000) },
  });
  expect(await minutesDue()).toBe(10);
  expect(warnings).toEqual([expect.objectContaining({ applicationId, status: 'submitted' })]);
  while (await service.decideOnce());
  expect(await minutesDue()).toBe(0);
});
