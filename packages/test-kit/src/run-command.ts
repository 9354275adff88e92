import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface CommandOptions {
  /** The service's folder. */
  folder: string;
  /** A file of its `src`, with arguments: `['migrate']`. */
  command: [name: string, ...args: string[]];
  environment: Record<string, string>;
}

/** Runs an operator's command of a service to its end, in a process of its own. */
export async function runCommand({
  folder,
  command: [name, ...args],
  environment,
}: CommandOptions): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, ['--conditions=source', `src/${name}.ts`, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}
