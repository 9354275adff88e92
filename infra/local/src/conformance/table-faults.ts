import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTable, type Row } from './read-table.ts';
import { testTitles } from './test-titles.ts';

/**
 * What is wrong with the tables of sentences and the tests that show them: a row that cannot be read, a number that is
 * missing or there twice, a test that is not there. Each fault begins with the table and the line.
 */
export function tableFaults(root: string, folder = 'docs/conformance'): string[] {
  const titlesOf = new Map<string, ReturnType<typeof testTitles>>();
  const tables = readdirSync(join(root, folder)).filter((name) => name.endsWith('.md'));
  return tables.sort().flatMap((name) => {
    const { rows, unreadable } = readTable(readFileSync(join(root, folder, name), 'utf8'));
    const faults = [
      ...unreadable.map((line) => ({ line, text: 'is no row: | number | sentence | `file › test` |' })),
      ...rows.flatMap((row, index) => [
        ...numberFaults(row, rows[index - 1]),
        ...row.tests.flatMap(lacks(row)),
      ]),
    ];
    return faults.map(({ line, text }) => `${folder}/${name}:${line} ${text}`);
  });

  function lacks({ line, number }: Row): (test: string) => { line: number; text: string }[] {
    return (test) => {
      const [file = '', ...names] = test.split(' › ');
      const title = names.pop();
      if (title === undefined) return [{ line, text: `${number} names no test: ${test}` }];
      if (!existsSync(join(root, file)))
        return [{ line, text: `${number} names a file that is not there: ${file}` }];
      const known = titlesOf.get(file) ?? testTitles(readFileSync(join(root, file), 'utf8'));
      titlesOf.set(file, known);
      const isThere = known.some(
        (each) => each.title === title && names.every((name) => each.describes.includes(name)),
      );
      return isThere ? [] : [{ line, text: `${number} names a test that is not in its file: ${test}` }];
    };
  }
}

/** Numbers go up by one from the first row to the last, so that none can be lost unseen. */
function numberFaults(row: Row, before: Row | undefined): { line: number; text: string }[] {
  const expected = before === undefined ? [row.part, 1] : [before.part, before.nth + 1];
  const [part, nth] = expected;
  if (row.part === part && row.nth === nth) return [];
  return [{ line: row.line, text: `${row.number} is where ${part}.${nth} should be` }];
}
