import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Seconds; from a fast read to the 30 s limit of a whole request. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The metrics that every service has. A service adds its own to `registry`. */
export function createMetrics(service: string) {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  return {
    registry,
    httpDuration: new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer.',
      labelNames: ['method', 'route', 'status'],
      buckets: durationBuckets,
      registers,
    }),
    outboxPublished: new Counter({
      name: 'outbox_published_total',
      help: 'Outbox rows that Kafka has acknowledged.',
      registers,
    }),
    outboxOldestSeconds: new Gauge({
      name: 'outbox_oldest_seconds',
      help: 'Age of the oldest row that the last turn of the relay read.',
      registers,
    }),
    recordsHandled: new Counter({
      name: 'kafka_records_handled_total',
      help: 'Records handled, by topic.',
      labelNames: ['topic'],
      registers,
    }),
    recordsDeadLettered: new Counter({
      name: 'kafka_records_dead_lettered_total',
      help: 'Records that could not be handled and went to the dead-letter topic.',
      labelNames: ['topic'],
      registers,
    }),
  };
}
export type Metrics = ReturnType<typeof createMetrics>;
