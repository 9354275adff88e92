import { join } from 'node:path';
import { runCommand } from '@assistance/test-kit';
import { paths } from '../../machine/paths.ts';
import type { Claim } from './claim.ts';

/** What the operator's command says of the audit, run in a process of its own beside the services. */
export async function proveAudit(databaseUrl: string, applications: number): Promise<Claim> {
  const verified = await runCommand({
    folder: join(paths.apps, 'applications'),
    command: ['verify-audit'],
    environment: { DATABASE_URL: databaseUrl },
  });
  return auditClaim(verified, applications);
}

/**
 * Pure. An end that was cut off leaves a whole chain, so the ledger says how many rows there are at least: one for each
 * application.
 */
export function auditClaim(verified: { code: number; output: string }, applications: number): Claim {
  const [, rows] = /^(\d+) rows hold/m.exec(verified.output) ?? [];
  const [, unsealed] = /^(\d+) rows wait for their seal/m.exec(verified.output) ?? [];
  const isWhole = verified.code === 0 && Number(rows) >= applications && Number(unsealed) === 0;
  const counted = `${rows} rows verified, ${unsealed} unsealed, of ${applications} applications`;
  return {
    claim: "the audit's chain is whole, to its last row",
    holds: isWhole,
    found: verified.code === 0 ? counted : verified.output.trim().replaceAll('\n', ' '),
  };
}
