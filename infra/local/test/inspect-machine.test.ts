import { expect, test } from '@jest/globals';
import { javaCommand, javaMajor, javaMajorOf, outputOf } from '../src/machine/inspect-machine.ts';

test.each([
  ['openjdk version "17.0.15" 2025-04-15', 17],
  ['openjdk version "21" 2023-09-19 LTS', 21],
  ['java version "1.8.0_401"', 8],
  ['openjdk version "25-ea" 2025-09-16', 25],
  ['Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.2" 2019-01-15', 11],
  ['sh: 1: java: not found', undefined],
])('%s is Java %s', (output, major) => {
  expect(javaMajorOf(output)).toBe(major);
});

test('JAVA_HOME decides which Java is asked', async () => {
  expect(javaCommand({ JAVA_HOME: '/opt/java' })).toBe('/opt/java/bin/java');
  expect(javaCommand({ JAVA_HOME: '' })).toBe('java');
  expect(await javaMajor({ JAVA_HOME: '/there/is/none' })).toBeUndefined();
});

test('a command that is not there has code 1', async () => {
  expect(await outputOf('there-is-no-such-command', [])).toEqual({ code: 1, output: '' });
});
