import { readdirSync, readFileSync } from 'node:fs';

/** `<pid> <command line>` of each other process that names the folder in its command line or environment (on Linux). */
export function processesOf(folder: string): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => `${read(pid, 'cmdline')} ${read(pid, 'environ')}`.includes(folder))
    .map((pid) => `${pid} ${read(pid, 'cmdline')}`);
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // it ended
  }
}
