import { spawn } from 'node:child_process';
import type { ProcessLedger } from './process-ledger.ts';

export interface CommandOptions {
  command: string;
  args: string[];
  cwd: string;
  env?: NodeJS.ProcessEnv;
  ledger: ProcessLedger;
  /** Ends the command and all that it started. */
  signal: AbortSignal;
}

/** Runs a command in a process group of its own and shows what it prints; resolves with its code and its output. */
export async function runCommand(options: CommandOptions): Promise<{ code: number; output: string }> {
  options.signal.throwIfAborted();
  options.ledger.checkOpen();
  const child = spawn(options.command, options.args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const pid = child.pid;
  if (pid !== undefined) options.ledger.record(options.command, pid);
  const endGroup = (signal: NodeJS.Signals) => {
    try {
      if (pid !== undefined) process.kill(-pid, signal);
    } catch {
      // All of the group are gone.
    }
  };
  let killing: NodeJS.Timeout | undefined;
  const abort = () => {
    endGroup('SIGTERM');
    killing = setTimeout(() => endGroup('SIGKILL'), 3_000);
  };
  options.signal.addEventListener('abort', abort, { once: true });
  let output = '';
  for (const [stream, shown] of [
    [child.stdout, process.stdout] as const,
    [child.stderr, process.stderr] as const,
  ]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      shown.write(chunk);
    });
  }
  const code = await new Promise<number>((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', (exitCode) => resolve(exitCode ?? 1));
  });
  options.signal.removeEventListener('abort', abort);
  clearTimeout(killing);
  endGroup('SIGKILL'); // what a test left running
  if (pid !== undefined) options.ledger.forget(pid);
  return { code, output };
}
