import { readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';

const largestBytes = 50 * 1024 * 1024;
const lookEveryMs = 10_000;

/** Empties the logs of the last run and keeps those of this one bounded, until stopped. */
export function boundLogs(folder: string): { stop(): void } {
  const emptyAbove = (bytes: number) => {
    for (const name of readdirSync(folder)) {
      const file = join(folder, name);
      if (statSync(file, { throwIfNoEntry: false })?.isFile() && statSync(file).size > bytes)
        truncateSync(file);
    }
  };
  emptyAbove(0);
  // Each process appends, so it goes on at the new end of a file that was emptied under it.
  const timer = setInterval(() => emptyAbove(largestBytes), lookEveryMs);
  return { stop: () => clearInterval(timer) };
}

/** The last lines of a log, for the message of a fault. */
export function tailOf(logFile: string, lines = 8): string {
  try {
    const tail = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lines);
    return `\nThe end of ${logFile}:\n${tail.map((line) => `  ${line}`).join('\n')}`;
  } catch {
    return '';
  }
}
