import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { evaluateRules } from '../src/programs/evaluate-rules.ts';
import { loadPrograms } from '../src/programs/load-programs.ts';
import { programsFolder } from './support/start-service.ts';

/** The worked examples of a program: what is answered, and what its rules must say. */
const examples = z.array(
  z.strictObject({
    name: z.string(),
    submittedAt: z.iso.datetime().optional(),
    answers: z.record(z.string(), z.unknown()),
    verdict: z.enum(['eligible', 'ineligible', 'undetermined']),
    unmet: z.array(z.string()).optional(),
    undetermined: z.array(z.string()).optional(),
  }),
);

const sets = ['agency', 'sandbox'];
const catalogue = await loadPrograms(programsFolder, sets);
const folders = sets.flatMap((set) =>
  readdirSync(join(programsFolder, set)).map((code) => ({
    set,
    code,
    file: join(programsFolder, set, code, 'examples.json'),
  })),
);

for (const { code, file } of folders.filter((folder) => existsSync(folder.file))) {
  describe(code, () => {
    test.each(
      examples.parse(JSON.parse(readFileSync(file, 'utf8'))).map((each) => [each.name, each] as const),
    )('%s', async (_name, example) => {
      const submittedAt = new Date(example.submittedAt ?? Date.now());
      const program = catalogue.inForce(code, submittedAt);
      if (program === undefined) throw new Error('the program is not in force');
      expect(program.checkAnswers(example.answers)).toEqual([]);
      const { verdict, outcomes } = await evaluateRules(program.pack, {
        programCode: code,
        channel: 'web',
        submittedAt,
        answers: example.answers,
      });
      const codesOf = (wanted: string) =>
        outcomes.filter(({ outcome }) => outcome === wanted).map(({ rule }) => rule.code);
      expect(verdict).toBe(example.verdict);
      if (example.unmet !== undefined) expect(codesOf('unmet')).toEqual(example.unmet);
      if (example.undetermined !== undefined) expect(codesOf('undetermined')).toEqual(example.undetermined);
    });
  });
}

test.each(folders.filter(({ set }) => set === 'agency').map(({ code }) => code))(
  '%s has worked examples of each verdict, and never denies for want of an answer',
  async (code) => {
    const program = catalogue.inForce(code, new Date());
    if (program === undefined) throw new Error('the program is not in force');
    const file = folders.find((folder) => folder.code === code)?.file ?? '';
    const all = examples.parse(JSON.parse(readFileSync(file, 'utf8')));
    expect(new Set(all.map(({ verdict }) => verdict))).toEqual(
      new Set(['eligible', 'ineligible', 'undetermined']),
    );
    for (const { answers, submittedAt } of all.filter(({ verdict }) => verdict === 'eligible')) {
      for (const missing of Object.keys(answers)) {
        const { [missing]: _left, ...rest } = answers;
        const { verdict } = await evaluateRules(program.pack, {
          programCode: code,
          channel: 'web',
          submittedAt: new Date(submittedAt ?? Date.now()),
          answers: rest,
        });
        expect(verdict).not.toBe('ineligible');
      }
    }
  },
);
