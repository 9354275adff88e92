import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '@assistance/test-kit';
import { paths } from '../../src/machine/paths.ts';
import { platformFile, type Platform } from '../../src/platform/platform-file.ts';

export interface Started {
  child: ChildProcess;
  /** What a person has seen so far. */
  output(): string;
  platform(): Platform;
  /** What Ctrl-C in a terminal does: SIGINT to all of the foreground group. */
  pressCtrlC(): Promise<void>;
  exited: Promise<number | null>;
}

/** `npm start` in a process group of its own, with a state folder and a port of its own. */
export function npmStart(localDir: string, port: number, ...args: string[]): Started {
  const { TEST_POSTGRES_URL, TEST_KAFKA_BROKERS, NODE_OPTIONS, ...environment } = process.env;
  const child = spawn('npm', ['--silent', 'start', '--', ...args], {
    cwd: paths.root,
    env: { ...environment, LOCAL_DIR: localDir, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  return {
    child,
    output: () => output,
    platform: () => platformFile.parse(JSON.parse(readFileSync(join(localDir, 'platform.json'), 'utf8'))),
    pressCtrlC: async () => {
      process.kill(-child.pid!, 'SIGINT');
      await exited;
    },
    exited,
  };
}

export async function untilUp(started: Started): Promise<Platform> {
  let ended = false;
  void started.exited.then(() => (ended = true));
  await waitUntil(() => ended || started.output().includes('The platform is up'), { timeoutMs: 90_000 });
  if (ended) throw new Error(`npm start ended:\n${started.output()}`);
  return started.platform();
}
