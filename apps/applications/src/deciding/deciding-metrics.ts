import { Counter, Gauge, Histogram, type Registry } from '@assistance/service-kit';

export type DecidingMetrics = ReturnType<typeof createDecidingMetrics>;

export function createDecidingMetrics(registry: Registry) {
  const registers = [registry];
  return {
    decisions: new Counter({
      name: 'application_decisions_total',
      help: 'Applications that were decided, or left to a person (review).',
      labelNames: ['decision'],
      registers,
    }),
    afterSeconds: new Histogram({
      name: 'application_decision_seconds',
      help: 'Time from a submission to a decision about it.',
      buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600, 86_400],
      registers,
    }),
    undecidable: new Counter({
      name: 'application_not_decidable_total',
      help: 'Attempts to decide that failed: the program or the key of the answers is not here.',
      registers,
    }),
    dueSeconds: new Gauge({
      name: 'application_due_oldest_seconds',
      help: 'How long the deciding loop has left waiting what is due the longest; 0 when nothing is due.',
      registers,
    }),
    oldestSeconds: new Gauge({
      name: 'application_oldest_seconds',
      help: 'Age of the oldest application that is in this status still, which is not final.',
      labelNames: ['status'],
      registers,
    }),
  };
}
