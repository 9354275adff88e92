/** A sentence of the contract and the tests that show it. */
export interface Row {
  line: number;
  /** `3.14` is the 14th of part 3. */
  number: string;
  part: string;
  nth: number;
  sentence: string;
  /** `path/to/file.test.ts › title`, or `… › describe › title`. */
  tests: string[];
}

const row = /^\| ([A-Z0-9][A-Z0-9.]*)\.(\d+) \| (.+) \| (`.+`) \|$/;
const headOrRule = /^\| (?:#|-+) \|/;

/** Reads the rows of a Markdown table as `docs/conformance` has them, and tells the lines that are none. */
export function readTable(text: string): { rows: Row[]; unreadable: number[] } {
  const rows: Row[] = [];
  const unreadable: number[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    if (!line.startsWith('|') || headOrRule.test(line)) continue;
    const [, part, nth, sentence, tests] = row.exec(line) ?? [];
    if (part === undefined || sentence === undefined || tests === undefined) {
      unreadable.push(index + 1);
      continue;
    }
    rows.push({
      line: index + 1,
      number: `${part}.${nth}`,
      part,
      nth: Number(nth),
      sentence,
      tests: tests.split('<br>').map((test) => test.trim().replace(/^`|`$/g, '')),
    });
  }
  return { rows, unreadable };
}
