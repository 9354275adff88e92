import type { ApplicationStatus } from '@assistance/types';
import type { OutgoingRecord, Sql } from '@assistance/service-kit';
import { outboxRow } from '@assistance/service-kit';
import { canMove, isOpen } from './status-machine.ts';
import type { Translated } from '../programs/program-pack.ts';

/** Why an application has the status that it has; which rule said what, never the facts themselves. */
export interface Reason {
  code: string;
  message: Translated;
  citation?: string;
  rules?: { code: string; outcome: string; citation: string }[];
}

/** One change of one application. Equal `from` and `to`: it stays, and its history row gets the reason. */
export interface Transition {
  applicationId: string;
  /** The version that the change was judged on; at any other nothing happens. */
  version: number;
  from: ApplicationStatus;
  to: ApplicationStatus;
  at: Date;
  reason: Reason | null;
  /** The owner of the calling client, or the part of the system that moves it. */
  actor: string;
  action: string;
  requestId?: string;
  caseId?: string | null;
  /** Who withdrew it, and what the answer said of its case: a repeat gets the same. */
  withdrawal?: { owner: string; key: string | null; caseId: string | null };
  /** What other systems are told, in this order. */
  records: OutgoingRecord[];
}

/**
 * Makes changes of status, each guarded by the version that it was judged on, and each with its history row, its audit
 * row and its outbox rows: all in one statement, so all or nothing. Answers the ids of those that were made. The
 * application's row is locked before its outbox rows get their ids, so what is told of it is told in order.
 */
export async function applyTransitions(sql: Sql, transitions: Transition[]): Promise<Set<string>> {
  if (transitions.length === 0) return new Set();
  const impossible = transitions.find(
    ({ from, to }) => !(canMove(from, to) || (from === to && isOpen(from))),
  );
  if (impossible !== undefined)
    throw new Error(`there is no move from ${impossible.from} to ${impossible.to}`);
  const rows = await sql.$queryRawUnsafe<{ applicationId: string }[]>(
    statement,
    JSON.stringify(transitions.map(inputOf)),
    JSON.stringify(transitions.flatMap(recordsOf)),
  );
  return new Set(rows.map(({ applicationId }) => applicationId));
}

const inputOf = (transition: Transition) => ({
  application_id: transition.applicationId,
  version: transition.version,
  previous: transition.from,
  status: transition.to,
  stays_open: isOpen(transition.to),
  at: transition.at,
  reason: transition.reason,
  actor: transition.actor,
  action: transition.action,
  request_id: transition.requestId ?? null,
  case_id: transition.caseId ?? null,
  withdrawal_owner: transition.withdrawal?.owner ?? null,
  withdrawal_key: transition.withdrawal?.key ?? null,
  withdrawal_case_id: transition.withdrawal?.caseId ?? null,
});

const recordsOf = ({ applicationId, records }: Transition) =>
  records.map((record, position) => {
    const { value, ...row } = outboxRow(record);
    return {
      ...row,
      application_id: applicationId,
      position,
      value: value === null ? null : Buffer.from(value).toString(),
    };
  });

const statement = `
with input as (
  select * from jsonb_to_recordset($1::jsonb) as t (
    application_id text, version int, previous text, status text, stays_open boolean, at timestamptz, reason jsonb, actor text, action text,
    request_id text, case_id text, withdrawal_owner text, withdrawal_key text, withdrawal_case_id text
  )
), moved as (
  update application a
  set status = i.status,
      version = a.version + 1,
      case_id = coalesce(a.case_id, i.case_id),
      -- An application that has become eligible goes on at once when its determination came before.
      work_due_at = case when i.status = 'eligible' and a.pending_outcome is not null then i.at end,
      open_key = case when i.stays_open then a.open_key end,
      closed_at = case when not i.stays_open then i.at end,
      withdrawal_owner = coalesce(a.withdrawal_owner, i.withdrawal_owner),
      withdrawal_key = coalesce(a.withdrawal_key, i.withdrawal_key),
      withdrawal_case_id = coalesce(a.withdrawal_case_id, i.withdrawal_case_id)
  from input i
  where a.application_id = i.application_id and a.version = i.version and a.status = i.previous
  returning a.application_id, a.version, i.previous, i.status, i.at, i.reason, i.actor, i.action, i.request_id
), remembered as (
  insert into application_history (application_id, version, status, at, reason)
  select application_id, version, status, at, reason from moved where status <> previous
), explained as (
  update application_history h set reason = m.reason
  from moved m
  where m.status = m.previous and h.application_id = m.application_id and h.status = m.status
), audited as (
  insert into audit (at, actor, action, application_id, request_id, detail)
  select at, actor, action, application_id, request_id,
         jsonb_strip_nulls(jsonb_build_object('from', previous, 'to', status, 'reason', reason ->> 'code'))
  from moved
), told as (
  insert into outbox (shard, topic, key, value, headers)
  select r.shard, r.topic, r.key, convert_to(r.value, 'UTF8'), r.headers
  from jsonb_to_recordset($2::jsonb) as r (
    application_id text, position int, shard int, topic text, key text, value text, headers jsonb
  )
  join moved m on m.application_id = r.application_id
  order by r.application_id, r.position
)
select application_id as "applicationId" from moved`;
