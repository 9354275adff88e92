import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** When the process began, in the system's own words; undefined if there is none. Tells a reused pid apart. */
export function startTimeOf(pid: number): string | undefined {
  if (process.platform !== 'linux') {
    const { stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' });
    const [state, ...startTime] = (stdout ?? '').trim().split(/\s+/);
    return state === '' || state?.startsWith('Z') ? undefined : startTime.join(' ');
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Field 2 is the name in parentheses and may hold anything; the fields after it begin with the state (3).
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : `${bootId()} ${fields[19]}`;
  } catch {
    return undefined;
  }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}
