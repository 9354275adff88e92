import { caseMessages } from '@assistance/types';
import { isId, readCloudEvent, type Logger, type ReceivedRecord, type Sql } from '@assistance/service-kit';
import { logDecided } from '../deciding/log-decided.ts';
import type { DecidingMetrics } from '../deciding/deciding-metrics.ts';
import { applyTransitions } from '../status/apply-transitions.ts';
import {
  judgeCaseMessage,
  type CaseMessage,
  type JudgedApplication,
  type Judgement,
} from './judge-case-message.ts';

export interface CaseDeps {
  sql: Sql;
  metrics: DecidingMetrics;
  log: Logger;
  /** Called when something is to be told, or to be decided. */
  onChanged: () => void;
}

/**
 * Takes case management's messages, in order, each durably before the next. Safe to take twice: a judgement is made on
 * the application as it is, and applied only if it still is so; else the message is judged again.
 */
export function takeCaseMessages(deps: CaseDeps) {
  return async (records: ReceivedRecord[]): Promise<void> => {
    for (const record of records) {
      const message = readCloudEvent(record, caseMessages);
      if (message === undefined) continue;
      while (!(await takeCaseMessage(deps, message)));
    }
  };
}

/** False when the application changed between the judgement and its application. */
async function takeCaseMessage(deps: CaseDeps, message: CaseMessage): Promise<boolean> {
  const { sql, log } = deps;
  const { applicationId } = message.data;
  const found = isId('app', applicationId) ? await findApplication(sql, applicationId) : undefined;
  if (found === undefined) {
    await auditIgnored(sql, message, 'application_unknown');
    log.warn({ messageType: message.type, messageId: message.id }, 'case_message.application_unknown');
    return true;
  }
  const judgement = judgeCaseMessage(message, found, found.now);
  return apply(deps, message, found, judgement);
}

async function apply(
  deps: CaseDeps,
  message: CaseMessage,
  application: JudgedApplication,
  judgement: Judgement,
): Promise<boolean> {
  const { sql, log, onChanged } = deps;
  const { applicationId } = application;
  switch (judgement.kind) {
    case 'nothing':
      return true;
    case 'ignore':
      await auditIgnored(sql, message, judgement.why);
      log.warn({ applicationId, messageType: message.type, why: judgement.why }, 'case_message.ignored');
      return true;
    case 'move': {
      const applied = await applyTransitions(sql, [judgement.transition]);
      if (!applied.has(applicationId)) return false;
      onChanged();
      logDecided(deps, application, judgement.transition);
      return true;
    }
    case 'open_case':
      if ((await sql.$executeRawUnsafe(openCase, applicationId, judgement.caseId)) === 0) return false;
      log.info({ applicationId }, 'case.opened');
      return true;
    case 'keep':
      if ((await sql.$executeRawUnsafe(keep, applicationId, judgement.outcome, judgement.caseId)) === 0)
        return false;
      onChanged();
      log.info({ applicationId }, 'case.determined_early');
      return true;
  }
}

async function findApplication(
  sql: Sql,
  applicationId: string,
): Promise<(JudgedApplication & { now: Date }) | undefined> {
  const [row] = await sql.$queryRawUnsafe<(JudgedApplication & { now: Date })[]>(find, applicationId);
  return row;
}

/** An id that is none of ours is not kept: it may be anything. */
const auditIgnored = (sql: Sql, { id, type, data }: CaseMessage, why: string): PromiseLike<number> =>
  sql.$executeRawUnsafe(
    `insert into audit (actor, action, application_id, detail)
     values ('case-management', 'case_message.ignored', $1, jsonb_build_object('type', $2::text, 'messageId', $3::text, 'why', $4::text))`,
    isId('app', data.applicationId) ? data.applicationId : null,
    type,
    isId('evt', id) ? id : null,
    why,
  );

const find = `
select application_id as "applicationId", status, version, program_code as "programCode",
       program_version as "programVersion", applicant_ref as "applicantRef", declaration_id as "declarationId",
       channel, case_id as "caseId", submitted_at as "submittedAt", pending_outcome as "pendingOutcome",
       pending_case_id as "pendingCaseId", status = 'validating' and work_due_at is null as "awaitsReview",
       date_trunc('milliseconds', clock_timestamp()) as now
from application where application_id = $1`;

const openCase = `
with opened as (
  update application set case_id = $2
  where application_id = $1 and case_id is null and coalesce(pending_case_id, $2) = $2
  returning application_id, case_id
)
insert into audit (actor, action, application_id, detail)
select 'case-management', 'case.opened', application_id, jsonb_build_object('caseId', case_id) from opened`;

const keep = `
with kept as (
  update application set pending_outcome = $2, pending_case_id = $3
  where application_id = $1 and status in ('submitted', 'validating') and pending_outcome is null
    and coalesce(case_id, $3) = $3
  returning application_id, pending_outcome
)
insert into audit (actor, action, application_id, detail)
select 'case-management', 'case.determined_early', application_id, jsonb_build_object('outcome', pending_outcome)
from kept`;
