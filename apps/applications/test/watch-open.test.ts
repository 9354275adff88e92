import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createMetrics } from '@assistance/service-kit';
import { createDecidingMetrics } from '../src/deciding/deciding-metrics.ts';
import { watchOpen } from '../src/deciding/watch-open.ts';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { post, submitted } from './support/submission.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ decide: false });
});
afterAll(() => service.stop());

test('the age of the oldest application is measured for each open status, and falls when it is settled', async () => {
  const { registry } = createMetrics('applications');
  const metrics = createDecidingMetrics(registry);
  const agesNow = async () => {
    await watchOpen({ sql: service.prisma, metrics });
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
