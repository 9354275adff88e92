import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a whole file or none of it, readable by this user alone: what is kept here includes keys and secrets. */
export function replaceFile(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const unfinished = `${path}.new`;
  writeFileSync(unfinished, content, { mode: 0o600 });
  renameSync(unfinished, path);
}
