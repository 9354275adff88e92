import { expect, test } from '@jest/globals';
import { countTests } from '../src/test-run/count-tests.ts';

test('the summaries of several packages are added up, colours or not', () => {
  const output = [
    '@assistance/types:test: Test Suites: 2 passed, 2 total',
    '@assistance/types:test: Tests:       9 passed, 9 total',
    '\x1b[1mTest Suites:\x1b[22m \x1b[31m1 failed\x1b[39m, 1 passed, 2 total',
    '\x1b[1mTests:\x1b[22m       \x1b[31m2 failed\x1b[39m, 3 passed, 5 total',
  ];
  expect(countTests(output.join('\n'))).toEqual({ passed: 12, failed: 2 });
});

test('a suite that could not run is a failure', () => {
  const output = 'Test Suites: 1 failed, 1 passed, 2 total\nTests:       4 passed, 4 total';
  expect(countTests(output)).toEqual({ passed: 4, failed: 1 });
});

test('no output is no test', () => {
  expect(countTests('')).toEqual({ passed: 0, failed: 0 });
});
