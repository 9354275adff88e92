import { expect, test } from '@jest/globals';
import { idOfNumbers, isId, newId, numbersOfId } from '../src/runtime/type-id.ts';

test.each([
  [0n, 0n],
  [7n, 3_644_444_444_444_444n],
  [2n ** 63n - 1n, 2n ** 63n - 1n],
  [2n ** 64n - 1n, 2n ** 64n - 1n],
])('an id around %d and %d gives the two back', (high, low) => {
  const id = idOfNumbers('dlv', high, low);
  expect(isId('dlv', id)).toBe(true);
  expect(numbersOfId('dlv', id)).toEqual([high, low]);
});

test('what is no id with the prefix has no numbers', () => {
  for (const text of ['', 'dlv_', 'dlv_x', newId('evt'), `${newId('dlv')}0`]) {
    expect(numbersOfId('dlv', text)).toBeUndefined();
  }
});
