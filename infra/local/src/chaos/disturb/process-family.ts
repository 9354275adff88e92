import { execFileSync } from 'node:child_process';

/** The process and those it started: a Postgres is frozen only when its backends are. */
export function processFamily(pid: number): number[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const children = table.split('\n').flatMap((line) => {
    const [child, parent] = line.trim().split(/\s+/).map(Number);
    return parent === pid && child !== undefined ? [child] : [];
  });
  return [pid, ...children];
}

/** Stops the process and those it started where they are; answers how to let them go on. */
export function freezeFamily(pid: number): () => void {
  const frozen = processFamily(pid).filter((member) => sendSignal(member, 'SIGSTOP'));
  return () => {
    for (const member of frozen) sendSignal(member, 'SIGCONT');
  };
}

/** True unless the process is gone already. */
export function sendSignal(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
