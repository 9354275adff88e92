import { renameSync, writeFileSync } from 'node:fs';

/** Writes the whole file or nothing: whoever reads it meanwhile sees the old one. */
export function replaceFile(file: string, value: unknown, mode = 0o644): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode });
  renameSync(`${file}.new`, file);
}
