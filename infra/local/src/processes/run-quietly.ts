import { spawn } from 'node:child_process';
import type { ProcessLedger } from './process-ledger.ts';

export interface QuietCommand {
  name: string;
  command: string;
  args: string[];
  ledger: ProcessLedger;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

/** Runs a short command to its end and keeps what it prints. A command that is not there has code 127. */
export async function runQuietly(options: QuietCommand): Promise<{ code: number; output: string }> {
  options.ledger.checkOpen();
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: options.env ?? process.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  const { pid } = child;
  if (pid !== undefined) options.ledger.record(options.name, pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const code = await new Promise<number>((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', (exitCode) => resolve(exitCode ?? 1));
  });
  if (pid !== undefined) options.ledger.forget(pid);
  return { code, output: output.trim() };
}
