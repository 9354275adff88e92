import { describe, expect, test } from '@jest/globals';
import { evaluateRules } from '../src/programs/evaluate-rules.ts';
import type { Conditions, ProgramPack } from '../src/programs/program-pack.ts';
import { samplePack } from './support/sample-pack.ts';

async function verdictOf(
  rules: { when?: Conditions; conditions: Conditions }[],
  answers: Record<string, unknown>,
  changes: Partial<ProgramPack> = {},
): Promise<string> {
  const pack = samplePack({
    ...changes,
    rules: rules.map((rule, n) => ({
      code: `rule_${n}`,
      citation: 'a source',
      message: { en: 'en', es: 'es' },
      ...rule,
    })),
  });
  const submittedAt = new Date('2026-07-01T00:00:00.000Z');
  const submission = { programCode: 'SAMPLE', channel: 'web', submittedAt, answers };
  return (await evaluateRules(pack, submission)).verdict;
}

const compare = (operator: string, value: any): Conditions => ({ all: [{ fact: 'a', operator, value }] });
const yes: Conditions = compare('equal', true);

describe('an operator', () => {
  test.each([
    ['equal', 'x', 'x', 'y'],
    ['notEqual', 'x', 'y', 'x'],
    ['lessThan', 5, 4, 5],
    ['lessThanInclusive', 5, 5, 6],
    ['greaterThan', 5, 6, 5],
    ['greaterThanInclusive', 5, 5, 4],
    ['in', ['x', 'y'], 'x', 'z'],
    ['notIn', ['x', 'y'], 'z', 'x'],
    ['contains', 'x', ['x', 'y'], ['y']],
    ['doesNotContain', 'x', ['y'], ['x']],
  ])('%s %j holds for %j and not for %j', async (operator, value, good, bad) => {
    const rule = { conditions: compare(operator, value) };
    expect(await verdictOf([rule], { a: good })).toBe('eligible');
    expect(await verdictOf([rule], { a: bad })).toBe('ineligible');
  });

  test.each([
    ['lessThanInclusive', 5, '4'],
    ['lessThan', 5, null],
    ['greaterThan', 5, true],
    ['lessThan', 5, {}],
    ['equal', 'true', true],
    ['equal', 'x', {}],
    ['notEqual', 1, '1'],
    ['in', ['x'], {}],
    ['notIn', ['x'], ['x']],
    ['contains', 'x', 'xyz'],
    ['doesNotContain', 'x', 'abc'],
  ])('%s %j finds %j unusable: undetermined, not false', async (operator, value, fact) => {
    expect(await verdictOf([{ conditions: compare(operator, value) }], { a: fact })).toBe('undetermined');
  });

  test.each(['lessThan', 'greaterThan', 'equal', 'notEqual', 'in', 'notIn', 'contains', 'doesNotContain'])(
    '%s finds a missing fact undetermined, whichever way the rule is turned',
    async (operator) => {
      const value = operator.includes('n') && operator.toLowerCase().endsWith('in') ? ['x'] : 5;
      const conditions = compare(operator, value);
      expect(await verdictOf([{ conditions }], {})).toBe('undetermined');
      expect(await verdictOf([{ conditions: { not: conditions } }], {})).toBe('undetermined');
    },
  );
});

describe('rules together', () => {
  const met = { conditions: yes };
  const unmet = { conditions: { not: yes } as Conditions };
  const open = { conditions: { all: [{ fact: 'missing', operator: 'equal', value: true }] } as Conditions };

  test.each([
    ['none', [], 'eligible'],
    ['all met', [met, met], 'eligible'],
    ['one unmet', [met, unmet], 'ineligible'],
    ['one open', [met, open], 'undetermined'],
    ['one unmet and one open', [unmet, open], 'undetermined'],
  ])('%s', async (_what, rules, verdict) => {
    expect(await verdictOf(rules, { a: true })).toBe(verdict);
  });

  test('a rule that concerns someone else is met, even when its own fact is missing', async () => {
    expect(await verdictOf([{ when: { not: yes }, ...open }], { a: true })).toBe('eligible');
  });

  test('a rule of which nobody knows whom it concerns is open', async () => {
    expect(await verdictOf([{ when: open.conditions, conditions: yes }], { a: true })).toBe('undetermined');
  });

  test('decidedBy person leaves everything to a person', async () => {
    expect(await verdictOf([], { a: true }, { decidedBy: 'person' })).toBe('undetermined');
  });
});

describe('conditions are asked in order', () => {
  const missing = { fact: 'missing', operator: 'equal', value: true };
  const a = (value: boolean) => ({ fact: 'a', operator: 'equal', value });

  test.each<[string, Conditions, string]>([
    ['all: a false one before', { all: [a(false), missing] }, 'ineligible'],
    ['all: a true one before', { all: [a(true), missing] }, 'undetermined'],
    ['any: a true one before', { any: [a(true), missing] }, 'eligible'],
    ['any: a false one before', { any: [a(false), missing] }, 'undetermined'],
    ['nested', { all: [{ any: [a(true), missing] }, a(true)] }, 'eligible'],
  ])('%s a missing fact', async (_what, conditions, verdict) => {
    expect(await verdictOf([{ conditions }], { a: true })).toBe(verdict);
  });
});

describe('a look-up', () => {
  const lookups = { limit: { by: 'size', table: { '1': 100, '2': 150 }, eachFurther: 25 } };
  const rules = [
    { conditions: { all: [{ fact: 'income', operator: 'lessThanInclusive', value: { fact: 'limit' } }] } },
  ];

  test.each([
    [1, 100, 'eligible'],
    [1, 101, 'ineligible'],
    [2, 150, 'eligible'],
    [4, 200, 'eligible'],
    [4, 201, 'ineligible'],
    [0, 0, 'undetermined'],
    [1.5, 0, 'undetermined'],
    ['2', 0, 'undetermined'],
    [undefined, 0, 'undetermined'],
  ])('by %j, income %j: %s', async (size, income, verdict) => {
    expect(await verdictOf(rules, { size, income }, { lookups })).toBe(verdict);
  });

  test('cannot be answered by the applicant', async () => {
    expect(await verdictOf(rules, { income: 1_000, limit: 1_000_000 }, { lookups })).toBe('undetermined');
  });

  test('beyond its table is open when the pack does not say how it goes on', async () => {
    const table = { limit: { by: 'size', table: { '1': 100 } } };
    expect(await verdictOf(rules, { size: 2, income: 0 }, { lookups: table })).toBe('undetermined');
  });
});

test('what is known of the application itself cannot be answered by the applicant', async () => {
  const rules = [{ conditions: { all: [{ fact: 'application.month', operator: 'equal', value: 7 }] } }];
  expect(await verdictOf(rules, { 'application.month': 1 })).toBe('eligible');
});
