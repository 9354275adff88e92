import { Counter, Gauge, type Registry } from '@assistance/service-kit';

export type AuditMetrics = ReturnType<typeof createAuditMetrics>;

export function createAuditMetrics(registry: Registry) {
  const registers = [registry];
  return {
    sealed: new Counter({
      name: 'audit_sealed_total',
      help: 'Audit rows that this instance has sealed.',
      registers,
    }),
    unsealedSeconds: new Gauge({
      name: 'audit_unsealed_oldest_seconds',
      help: 'Age of the oldest audit row that is not sealed yet; 0 when there is none.',
      registers,
    }),
  };
}
