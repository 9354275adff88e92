import { Counter, Gauge, Histogram, type Metrics } from '@assistance/service-kit';
import type { AttemptOutcome } from './sending/attempt-outcome.ts';

/** What the dispatcher counts beside what every service does. */
export function createDispatcherMetrics({ registry }: Metrics) {
  const registers = [registry];
  const attempts = new Counter({
    name: 'delivery_attempts_total',
    help: 'Attempts to deliver, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const duration = new Histogram({
    name: 'delivery_attempt_duration_seconds',
    help: 'Time from the beginning of an attempt to its outcome.',
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 15],
    registers,
  });
  return {
    inFlight: new Gauge({ name: 'deliveries_in_flight', help: 'Attempts under way.', registers }),
    expired: new Counter({
      name: 'deliveries_expired_total',
      help: 'Deliveries that had not succeeded when the day of their event was dropped.',
      registers,
    }),
    attempted(outcome: AttemptOutcome, durationMs: number): void {
      attempts.inc({ outcome: outcome.kind === 'succeeded' ? 'succeeded' : outcome.reason });
      duration.observe(durationMs / 1000);
    },
  };
}
export type DispatcherMetrics = ReturnType<typeof createDispatcherMetrics>;
