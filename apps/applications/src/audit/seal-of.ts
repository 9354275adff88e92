import { createHash } from 'node:crypto';

/** A row of the audit as it is sealed: every column, as text. */
export interface AuditRow {
  id: bigint;
  at: string;
  actor: string;
  action: string;
  applicationId: string | null;
  requestId: string | null;
  detail: string;
}

/** The columns of an AuditRow but its id. */
export const auditColumns = `
  to_char(audit.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, audit.actor, audit.action,
  audit.application_id as "applicationId", audit.request_id as "requestId", audit.detail::text as detail`;

/** What comes before the first row. */
export const FIRST_SEAL: Uint8Array = Buffer.alloc(32);

/** SHA-256 over the seal of the row before and the row: nothing before a known seal can be changed unseen. */
export const sealOf = (previous: Uint8Array, row: AuditRow): Buffer =>
  createHash('sha256')
    .update(previous)
    .update(
      JSON.stringify([
        String(row.id),
        row.at,
        row.actor,
        row.action,
        row.applicationId,
        row.requestId,
        row.detail,
      ]),
    )
    .digest();
