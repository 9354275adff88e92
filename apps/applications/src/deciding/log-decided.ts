import type { Logger } from '@assistance/service-kit';
import type { Transition } from '../status/apply-transitions.ts';
import type { DecidingMetrics } from './deciding-metrics.ts';

/** One line and one count for each decision, and for each application that waits for a person. */
export function logDecided(
  { log, metrics }: { log: Logger; metrics: DecidingMetrics },
  application: { programCode: string; programVersion: number; submittedAt: Date },
  { applicationId, to, at, reason, actor, action }: Transition,
): void {
  const { programCode, programVersion, submittedAt } = application;
  const afterMs = at.getTime() - submittedAt.getTime();
  metrics.decisions.inc({ decision: to === 'validating' ? 'review' : to });
  metrics.afterSeconds.observe(afterMs / 1000);
  log.info(
    { applicationId, programCode, programVersion, decision: to, reason: reason?.code, by: actor, afterMs },
    action,
  );
}
