import { expect, test } from '@jest/globals';
import { applicationStatuses } from '@assistance/types';
import { applyTransitions } from '../src/status/apply-transitions.ts';
import { canMove, openStatuses } from '../src/status/status-machine.ts';

const allowed = [
  'submitted → validating',
  'submitted → withdrawn',
  'validating → eligible',
  'validating → ineligible',
  'validating → withdrawn',
  'eligible → awarded',
  'eligible → ineligible',
  'eligible → withdrawn',
];

const pairs = applicationStatuses.flatMap((from) => applicationStatuses.map((to) => [from, to] as const));

test('the moves are these, and no others', () => {
  const found = pairs.filter(([from, to]) => canMove(from, to)).map(([from, to]) => `${from} → ${to}`);
  expect(found.sort()).toEqual([...allowed].sort());
  expect(openStatuses).toEqual(['submitted', 'validating', 'eligible']);
});

test.each(pairs.filter(([from, to]) => from !== to && !canMove(from, to)))(
  'no statement is made that would move %s to %s',
  async (from, to) => {
    const asked = (): Promise<never> => Promise.reject(new Error('the database was asked'));
    const move = {
      applicationId: 'app_1',
      version: 1,
      from,
      to,
      at: new Date(),
      reason: null,
      actor: 'test',
      action: 'test',
      records: [],
    };
    await expect(
      applyTransitions({ $queryRawUnsafe: asked, $executeRawUnsafe: asked }, [move]),
    ).rejects.toThrow(`there is no move from ${from} to ${to}`);
  },
);
