import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { replaceFile } from './replace-file.ts';

/**
 * A file of JSON values, one a line, that only grows at its end. What `append` has returned from survives the death of
 * the process at any moment; it is not flushed to the disk, so not the death of the machine.
 */
export class Journal {
  private readonly path: string;
  private fd: number;
  private length: number;

  private constructor(path: string, fd: number, length: number) {
    this.path = path;
    this.fd = fd;
    this.length = length;
  }

  /** Opens or makes the file. A last line that was cut short was never acknowledged, and is dropped. */
  static open(path: string): { journal: Journal; values: unknown[] } {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const fd = openSync(path, 'a+', 0o600);
    const bytes = readFileSync(path);
    const length = bytes.lastIndexOf('\n') + 1;
    if (length < fstatSync(fd).size) ftruncateSync(fd, length);
    try {
      const lines = bytes.subarray(0, length).toString().split('\n').slice(0, -1);
      return {
        journal: new Journal(path, fd, length),
        values: lines.map((line) => JSON.parse(line) as unknown),
      };
    } catch {
      closeSync(fd);
      throw new Error(`${path} is damaged; "npm run reset" removes it together with the data it belongs to`);
    }
  }

  /** All of the values are kept, or it throws and none is. */
  append(values: readonly unknown[]): void {
    const bytes = Buffer.from(linesOf(values));
    try {
      for (let written = 0; written < bytes.length;) written += writeSync(this.fd, bytes, written);
    } catch (error) {
      ftruncateSync(this.fd, this.length);
      throw error;
    }
    this.length += bytes.length;
  }

  /** Replaces the whole content by values that say the same in fewer lines. */
  rewrite(values: readonly unknown[]): void {
    const lines = linesOf(values);
    replaceFile(this.path, lines);
    closeSync(this.fd);
    this.fd = openSync(this.path, 'a', 0o600);
    this.length = Buffer.byteLength(lines);
  }

  close(): void {
    closeSync(this.fd);
  }
}

const linesOf = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('');
