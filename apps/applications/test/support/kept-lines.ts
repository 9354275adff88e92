import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** What earlier runs of a long proof kept in a file, a line of JSON each, and how to keep more. Without a file, nothing. */
export function keptLines<T>(file: string): { lines: T[]; keep: (line: T) => void } {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const lines = text.split('\n').filter((line) => line !== '');
  return {
    lines: lines.map((line) => JSON.parse(line) as T),
    keep: (line) => {
      if (file === '') return;
      mkdirSync(dirname(file), { recursive: true });
      appendFileSync(file, `${JSON.stringify(line)}\n`);
    },
  };
}
