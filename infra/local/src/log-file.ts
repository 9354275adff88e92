import { readFileSync } from 'node:fs';

/** The last lines of a log, for the message of a fault. */
export function tailOf(logFile: string, lines = 8): string {
  try {
    const tail = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-lines);
    return `\nThe end of ${logFile}:\n${tail.map((line) => `  ${line}`).join('\n')}`;
  } catch {
    return '';
  }
}
