import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ProcessLedger } from './process-ledger.ts';

/** From now on, whatever happens to us, nothing in the ledger outlives us by more than seconds. */
export function startReaper(ledger: ProcessLedger, filesToRemove: string[]): void {
  const script = fileURLToPath(new URL('reaper.ts', import.meta.url));
  const reaper = spawn(process.execPath, [script, ledger.file, ...filesToRemove], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  if (reaper.pid !== undefined) ledger.record('reaper', reaper.pid);
  reaper.unref();
  reaper.stdin.on('error', () => {});
}
