import { stripVTControlCharacters } from 'node:util';

export interface TestCount {
  passed: number;
  failed: number;
}

/** Adds up jest's own summaries in the output of several runs; a suite that could not run counts as a failure. */
export function countTests(output: string): TestCount {
  const count = { passed: 0, failed: 0 };
  let brokenSuites = 0;
  for (const line of stripVTControlCharacters(output).split('\n')) {
    const [, kind, summary] = /(Test Suites|Tests):\s+(.* total)/.exec(line) ?? [];
    if (kind === 'Test Suites') brokenSuites = numberBefore('failed', summary);
    if (kind !== 'Tests') continue;
    const failed = numberBefore('failed', summary);
    count.passed += numberBefore('passed', summary);
    count.failed += failed === 0 ? brokenSuites : failed;
    brokenSuites = 0;
  }
  return count;
}

function numberBefore(word: string, summary: string | undefined): number {
  return Number(new RegExp(`(\\d+) ${word}`).exec(summary ?? '')?.[1] ?? 0);
}
