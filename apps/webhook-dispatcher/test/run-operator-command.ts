import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const folder = join(import.meta.dirname, '..');

/** What node is given to run a command of the dispatcher from its source. */
export const nodeArguments = (command: string, ...args: string[]): string[] => [
  ...['--conditions=source', '--disable-warning=ExperimentalWarning', `src/${command}.ts`, ...args],
];

/** Runs a command as an operator does. */
export async function runOperatorCommand(
  env: Record<string, string | undefined>,
  command: string,
  ...args: string[]
): Promise<{ code: number; lines: string[]; fault: string }> {
  const running = promisify(execFile)(process.execPath, nodeArguments(command, ...args), {
    ...{ cwd: folder, env: { PATH: process.env['PATH'], ...env } },
  });
  const { stdout, stderr, code } = await running.then(
    (output) => ({ ...output, code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  );
  return { code, lines: stdout.split('\n').filter((line) => line !== ''), fault: stderr };
}
