import { spawn } from 'node:child_process';
import { join } from 'node:path';

/** The java command: of JAVA_HOME if that is set, else from the PATH. */
export function javaCommand(environment: NodeJS.ProcessEnv): string {
  const home = environment['JAVA_HOME'];
  return home === undefined || home === '' ? 'java' : join(home, 'bin', 'java');
}

/** From what `java -version` prints: 17 of "17.0.15", 8 of "1.8.0_401". */
export function javaMajorOf(versionOutput: string): number | undefined {
  const version = /version "(?:1\.)?(\d+)/.exec(versionOutput)?.[1];
  return version === undefined ? undefined : Number(version);
}

export async function javaMajor(environment: NodeJS.ProcessEnv): Promise<number | undefined> {
  const { output } = await outputOf(javaCommand(environment), ['-version']);
  return javaMajorOf(output);
}

export async function hasMaven(): Promise<boolean> {
  return (await outputOf('sh', ['-c', 'command -v mvn'])).code === 0;
}

/** Whether a Docker engine answers; the command alone is not enough. */
export async function hasDocker(): Promise<boolean> {
  return (await outputOf('docker', ['version', '--format', '{{.Server.Version}}'])).code === 0;
}

/** What a short command prints. A command that is not there, or takes longer than 5 s, has code 1. */
export function outputOf(command: string, args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const killing = setTimeout(() => child.kill('SIGKILL'), 5_000);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => (output += String(chunk)));
    const end = (code: number | null) => {
      clearTimeout(killing);
      resolve({ code: code ?? 1, output });
    };
    child.once('error', () => end(1));
    child.once('close', end);
  });
}
