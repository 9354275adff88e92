import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { loadPrograms } from '../src/programs/load-programs.ts';
import {
  faultsOfExample,
  faultsOfExamples,
  readExamples,
  type WorkedExample,
} from '../src/programs/worked-examples.ts';
import { programsFolder } from './support/start-service.ts';

const sets = ['agency', 'sandbox'];
const catalogue = await loadPrograms(programsFolder, sets);
const programs = await Promise.all(
  sets.flatMap((set) =>
    readdirSync(join(programsFolder, set)).map(async (code) => ({
      set,
      code,
      examples: await readExamples(join(programsFolder, set, code)),
    })),
  ),
);

for (const { code, examples } of programs.filter((program) => program.examples.length > 0)) {
  describe(code, () => {
    test.each(examples.map((each) => [each.name, each] as const))('%s', async (_name, example) => {
      expect(await faultsOfExample(catalogue, code, example)).toEqual([]);
    });
  });
}

test.each(programs.filter(({ set }) => set === 'agency'))(
  '$code has worked examples of each verdict, and never denies for want of an answer',
  async ({ code, examples }) => {
    expect(await faultsOfExamples(catalogue, code, examples)).toEqual([]);
  },
);

describe('an example that does not hold is named with what the program says instead:', () => {
  const [example] = programs.find(({ code }) => code === 'SNAP')?.examples ?? [];
  const faultsOf = (changes: Partial<WorkedExample>) =>
    faultsOfExample(catalogue, 'SNAP', { ...example!, ...changes });

  test('another verdict, another rule', async () => {
    expect(example?.verdict).toBe('eligible');
    expect(await faultsOf({ verdict: 'ineligible', unmet: ['gross_income'] })).toEqual([
      'is eligible, not ineligible',
      'unmet: none, not gross_income',
    ]);
  });

  test('answers that the program refuses', async () => {
    expect(await faultsOf({ answers: { ...example?.answers, householdSize: 'two' } })).toEqual([
      expect.stringMatching(/^\/answers\/householdSize /),
    ]);
  });

  test('a moment before the program is in force', async () => {
    expect(await faultsOf({ submittedAt: '1990-01-01T00:00:00Z' })).toEqual(['the program is not in force']);
  });

  test('too few of them', async () => {
    expect(await faultsOfExamples(catalogue, 'SNAP', [example!])).toEqual([
      'examples.json has no example of ineligible',
      'examples.json has no example of undetermined',
    ]);
  });
});

test('the program of the guide is sound', async () => {
  const guide = readFileSync(join(programsFolder, '../../../docs/guides/adding-a-program.md'), 'utf8');
  const [program, examples] = [...guide.matchAll(/^```json\n(.*?)^```$/gms)].map(([, json]) => json!);
  const folder = mkdtempSync(join(tmpdir(), 'guide-'));
  const code = 'COOLING-AID';
  mkdirSync(join(folder, 'city', code), { recursive: true });
  writeFileSync(join(folder, 'city', code, 'program.json'), program!);
  writeFileSync(join(folder, 'city', code, 'examples.json'), examples!);
  try {
    const city = await loadPrograms(folder, ['city']);
    const all = await readExamples(join(folder, 'city', code));
    expect(await faultsOfExamples(city, code, all)).toEqual([]);
    expect(await Promise.all(all.map((each) => faultsOfExample(city, code, each)))).toEqual([[], [], []]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
