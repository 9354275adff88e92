import { readdirSync, readFileSync } from 'node:fs';

const ticksPerSecond = 100;

/** Seconds of processor that a process and its ended children used, with `family` also those that run. Linux only. */
export function processorSeconds(pid: number, { family = false } = {}): number {
  const pids = family ? [pid, ...childrenOf(pid)] : [pid];
  return pids.reduce((sum, each) => sum + ticksOf(each), 0) / ticksPerSecond;
}

/** Of the process itself, in MB; NaN where the system does not say. */
export function residentMegabytes(pid: number): number {
  try {
    const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes) / 1024;
  } catch {
    return NaN;
  }
}

function ticksOf(pid: number): number {
  const fields = statOf(pid);
  // utime, stime, and those of children that were waited for
  return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index] ?? 0), 0);
}

const childrenOf = (pid: number): number[] =>
  listProcesses().filter((each) => statOf(each)[1] === String(pid));

function listProcesses(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** The fields after the name, which is in parentheses and may hold anything. */
function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}
