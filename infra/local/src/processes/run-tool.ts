import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ProcessLedger } from './process-ledger.ts';
import { runCommand } from './run-command.ts';
import { onStopSignal } from './stop-signal.ts';

/** A task that is nothing but one tool: shows what it prints, ends as it ends. */
export async function runTool(command: {
  command: string;
  args: string[];
  cwd: string;
  env?: NodeJS.ProcessEnv;
}) {
  const folder = mkdtempSync(join(tmpdir(), 'assistance-tool-'));
  const stopping = new AbortController();
  onStopSignal(() => stopping.abort());
  const ledger = new ProcessLedger(join(folder, 'processes.json'));
  const { code } = await runCommand({ ...command, ledger, signal: stopping.signal });
  rmSync(folder, { recursive: true });
  process.exitCode = code;
}
