import { expect, test } from '@jest/globals';
import { createMetrics } from '@assistance/service-kit';
import { createAuditMetrics } from '../src/audit/audit-metrics.ts';
import { createDecidingMetrics } from '../src/deciding/deciding-metrics.ts';

test('metrics are named as Prometheus names them: a counter ends in _total, a time in _seconds', async () => {
  const { registry } = createMetrics('applications');
  createAuditMetrics(registry);
  createDecidingMetrics(registry);
  const ours = (await registry.getMetricsAsJSON()).filter(({ name }) => !/^(process|nodejs)_/.test(name));
  const ends: Record<string, RegExp> = { counter: /_total$/, gauge: /_seconds$/, histogram: /_seconds$/ };
  expect(ours.length).toBeGreaterThanOrEqual(10);
  for (const { name, type, help } of ours) {
    expect(name).toMatch(/^[a-z]+(_[a-z]+)+$/);
    expect(name).toMatch(ends[String(type)]!);
    expect(help).toMatch(/^[A-Z].*\.$/);
  }
});
