import { rmSync } from 'node:fs';
import { replaceFile } from './replace-file.ts';

const tryAgainMs = 1_000;

/**
 * A file that holds the last value it was given. While there is no room for it on the device it keeps the value before,
 * and is tried again each second.
 */
export class KeptFile {
  readonly path: string;
  readonly #mode: number;
  #retry: NodeJS.Timeout | undefined;

  constructor(path: string, mode = 0o600) {
    this.path = path;
    this.#mode = mode;
  }

  write(value: unknown): void {
    clearTimeout(this.#retry);
    try {
      replaceFile(this.path, value, this.#mode);
    } catch (error) {
      if (!isForWantOfSpace(error)) throw error;
      this.#retry = setTimeout(() => this.write(value), tryAgainMs).unref();
    }
  }

  remove(): void {
    clearTimeout(this.#retry);
    rmSync(this.path, { force: true });
  }
}

function isForWantOfSpace(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
}
