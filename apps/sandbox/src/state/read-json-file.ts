import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/**
 * The content of a file that an earlier start wrote, undefined when there is none. A file that cannot be used is never
 * overwritten: the error names it and says what to do.
 */
export function readJsonFile<T extends z.ZodType>(path: string, schema: T): z.output<T> | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`${path} cannot be read`, { cause: error });
  }
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new Error(`${path} is damaged; "npm run reset" removes it together with the data it belongs to`);
  }
}
