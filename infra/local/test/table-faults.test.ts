import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { tableFaults } from '../src/conformance/table-faults.ts';

const tests = `
  test('is there', () => {});
  describe('inside', () => {
    test.each<[string, number]>([['a', 1]])('%s of %i', () => {});
    test("what's quoted", () => {});
  });`;
const head = '| # | Sentence | Shown by |\n| - | - | - |\n';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'tables-'));
  mkdirSync(join(root, 'docs/conformance'), { recursive: true });
  writeFileSync(join(root, 'a.test.ts'), tests);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function faultsOf(...rows: string[]): string[] {
  writeFileSync(join(root, 'docs/conformance/t.md'), `# Text\n\n${head}${rows.join('\n')}\n`);
  return tableFaults(root);
}

test('a table whose rows follow one another and name tests that there are has no fault', () => {
  expect(
    faultsOf(
      '| 3.1 | One `thing`. | `a.test.ts › is there` |',
      "| 3.2 | Two. | `a.test.ts › %s of %i`<br>`a.test.ts › inside › what's quoted` |",
    ),
  ).toEqual([]);
});

test.each([
  ['a test that is not there', '`a.test.ts › is not there`', 'names a test that is not in its file'],
  ['a test of another describe', '`a.test.ts › outside › %s of %i`', 'names a test that is not in its file'],
  ['a describe alone', '`a.test.ts › inside`', 'names a test that is not in its file'],
  ['a file that is not there', '`b.test.ts › is there`', 'names a file that is not there: b.test.ts'],
  ['no test of the file', '`a.test.ts`', 'names no test'],
  [
    'one good and one wrong',
    '`a.test.ts › is there`<br>`a.test.ts › x`',
    'names a test that is not in its file',
  ],
])('%s is a fault', (_what, shown, message) => {
  expect(faultsOf(`| 3.1 | One. | ${shown} |`)).toEqual([expect.stringContaining(`t.md:5 3.1 ${message}`)]);
});

const row = (number: string): string => `| ${number} | One. | \`a.test.ts › is there\` |`;

test.each([
  ['twice', ['3.1', '3.1'], '3.1 is where 3.2 should be'],
  ['left out', ['3.1', '3.3'], '3.3 is where 3.2 should be'],
  ['not from the first', ['3.2'], '3.2 is where 3.1 should be'],
  ['of another part', ['3.1', '4.2'], '4.2 is where 3.2 should be'],
])('a number %s is a fault', (_what, numbers, message) => {
  expect(faultsOf(...numbers.map(row))).toEqual([expect.stringContaining(message)]);
});

test('a row without a test is a fault, not passed over', () => {
  expect(faultsOf(row('3.1'), '| 3.2 | Two. | |')).toEqual([expect.stringContaining('t.md:6 is no row')]);
});
