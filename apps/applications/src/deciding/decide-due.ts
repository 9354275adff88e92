import type { KeyRing, Logger, Sql } from '@assistance/service-kit';
import { evaluateRules } from '../programs/evaluate-rules.ts';
import type { PublishedPrograms } from '../programs/published-programs.ts';
import { openAnswers } from '../submission/seal-answers.ts';
import { applyTransitions, type Transition } from '../status/apply-transitions.ts';
import { claimDue, type DueApplication } from './claim-due.ts';
import { decide, settlePending } from './decide.ts';
import { logDecided } from './log-decided.ts';
import type { DecidingMetrics } from './deciding-metrics.ts';

export interface DecideDeps {
  sql: Sql;
  published: PublishedPrograms;
  keyRing: KeyRing;
  metrics: DecidingMetrics;
  log: Logger;
  /** Called once decisions are committed, with what is to be told. */
  onDecided: () => void;
}

const BATCH = 50;

/**
 * One turn of the deciding loop: claims what is due, judges each under the version of the program that it was taken
 * under, and commits the decisions. Dying anywhere leaves an application claimed until its lease ends; then the rules are
 * asked again. One that cannot be judged (its program or its key is not here) is left to the next lease, and holds up no
 * other. Answers true when there may be more.
 */
export async function decideDue(deps: DecideDeps): Promise<boolean> {
  const due = await claimDue(deps.sql, BATCH);
  const judged = await Promise.all(due.map((each) => judgeOrLog(deps, each)));
  const transitions = judged.filter((transition) => transition !== undefined);
  const applied = await applyTransitions(deps.sql, transitions);
  if (applied.size > 0) deps.onDecided();
  for (const transition of transitions) {
    const application = due.find(({ applicationId }) => applicationId === transition.applicationId);
    if (application === undefined || !applied.has(transition.applicationId)) continue;
    logDecided(deps, application, transition);
  }
  // An eligible one with a determination that came early is due again.
  return due.length === BATCH || due.some(({ pendingOutcome }) => pendingOutcome !== null);
}

async function judgeOrLog(deps: DecideDeps, due: DueApplication): Promise<Transition | undefined> {
  try {
    return await judge(deps, due);
  } catch (error) {
    const { applicationId, programCode, programVersion } = due;
    deps.metrics.undecidable.inc();
    deps.log.error({ applicationId, programCode, programVersion, err: error }, 'application.not_decidable');
    return undefined;
  }
}

async function judge(
  { published, keyRing }: DecideDeps,
  due: DueApplication,
): Promise<Transition | undefined> {
  const { applicationId, programCode, claimedAt, dataKey, answers } = due;
  if (due.status === 'eligible') {
    return due.pendingOutcome === null ? undefined : settlePending(due, due.pendingOutcome, claimedAt);
  }
  const { pack } = await published.versionOf(due);
  const evaluation = await evaluateRules(pack, {
    programCode,
    channel: due.channel,
    submittedAt: due.submittedAt,
    answers:
      dataKey === null || answers === null ? {} : openAnswers(keyRing, applicationId, { dataKey, answers }),
  });
  return decide(due, evaluation, claimedAt);
}
