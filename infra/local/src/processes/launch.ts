import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { ProcessLedger } from './process-ledger.ts';

export interface LaunchOptions {
  name: string;
  command: string;
  args: string[];
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Standard output and errors are appended to it. */
  logFile: string;
  ledger: ProcessLedger;
  /** The account to run as; our own if absent. */
  account?: { uid: number; gid: number } | undefined;
  stopSignal?: NodeJS.Signals;
  /** After that the process is killed. */
  stopTimeoutMs?: number;
}

export interface Running {
  pid: number;
  /** How it ended, in words. Never rejects. */
  exited: Promise<string>;
  /** Resolves when the process is gone. May be called more than once. */
  stop(): Promise<void>;
}

/**
 * Starts a process in a group of its own, so that Ctrl-C in the terminal reaches only us and the order in which
 * things stop is ours. It writes to its log file directly and needs nobody to read a pipe.
 */
export function launch(options: LaunchOptions): Running {
  options.ledger.checkOpen();
  const log = openSync(options.logFile, 'a', 0o600);
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: options.env ?? process.env,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...options.account,
  });
  closeSync(log);
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
  const pid = child.pid;
  if (pid === undefined) return { pid: 0, exited, stop: async () => {} };
  options.ledger.record(options.name, pid);
  const gone = exited.then((how) => {
    options.ledger.forget(pid);
    return how;
  });
  return {
    pid,
    exited: gone,
    stop: async () => {
      const killing = setTimeout(() => child.kill('SIGKILL'), options.stopTimeoutMs ?? 10_000);
      child.kill(options.stopSignal ?? 'SIGTERM');
      child.kill('SIGCONT'); // a frozen process could not obey
      await gone;
      clearTimeout(killing);
    },
  };
}
