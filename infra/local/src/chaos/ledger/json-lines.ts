import { createReadStream, existsSync, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** Appends lines to a file; each is the system's before the call returns, so a kill of this process loses none. */
export function appendTo<Line>(file: string): (line: Line) => void {
  const descriptor = openSync(file, 'a', 0o600);
  return (line) => void writeSync(descriptor, `${JSON.stringify(line)}\n`);
}

/** The lines of a file, oldest first; none if there is no file. A line that a kill cut short is passed over. */
export async function* linesOf<Line>(file: string): AsyncGenerator<Line> {
  if (!existsSync(file)) return;
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const line = parsed<Line>(text);
    if (line !== undefined) yield line;
  }
}

export async function allLinesOf<Line>(file: string): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const line of linesOf<Line>(file)) lines.push(line);
  return lines;
}

function parsed<Line>(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}
