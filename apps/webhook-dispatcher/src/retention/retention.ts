import { PollLoop, type Logger, type Part } from '@assistance/service-kit';
import type { DispatcherMetrics } from '../dispatcher-metrics.ts';
import { dropDays } from './drop-days.ts';

const EVERY_MS = 3_600_000;

/** Drops what is older than the days that are kept, once an hour. */
export function createRetention({
  metrics,
  ...options
}: {
  databaseUrl: string;
  retentionDays: number;
  metrics: DispatcherMetrics;
  log: Logger;
}): Part {
  const onExpired = (deliveries: number): void => {
    metrics.expired.inc(deliveries);
    if (deliveries > 0) options.log.warn({ deliveries }, 'deliveries.expired');
  };
  const loop = new PollLoop({
    name: 'retention',
    intervalMs: EVERY_MS,
    log: options.log,
    turn: async (signal) => {
      await dropDays({ ...options, onExpired, signal });
      return false;
    },
  });
  return { name: 'retention', start: () => loop.start(), stop: () => loop.stop() };
}
