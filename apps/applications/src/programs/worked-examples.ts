import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { evaluateRules, type Evaluation } from './evaluate-rules.ts';
import type { ProgramCatalogue } from './program-catalogue.ts';
import type { Program } from './program.ts';

const verdicts = ['eligible', 'ineligible', 'undetermined'] as const;
const workedExample = z.strictObject({
  name: z.string().min(1),
  submittedAt: z.iso.datetime().optional(),
  answers: z.record(z.string(), z.unknown()),
  verdict: z.enum(verdicts),
  unmet: z.array(z.string()).optional(),
  undetermined: z.array(z.string()).optional(),
});
export type WorkedExample = z.infer<typeof workedExample>;

/** What is answered, and what the rules must say: examples.json in the folder of a program; none if there is no such file. */
export async function readExamples(folder: string): Promise<WorkedExample[]> {
  const text = await readFile(join(folder, 'examples.json'), 'utf8').catch(() => '[]');
  return z.array(workedExample).parse(JSON.parse(text));
}

/** In which way a program does not do what one of its examples says. */
export async function faultsOfExample(
  catalogue: ProgramCatalogue,
  code: string,
  example: WorkedExample,
): Promise<string[]> {
  const program = inForceFor(catalogue, code, example);
  if (program === undefined) return ['the program is not in force'];
  const unfit = program.checkAnswers(example.answers);
  if (unfit.length > 0) return unfit.map(({ pointer, message }) => `${pointer} ${message}`);
  const { verdict, outcomes } = await evaluate(program, example);
  const faults = verdict === example.verdict ? [] : [`is ${verdict}, not ${example.verdict}`];
  for (const outcome of ['unmet', 'undetermined'] as const) {
    const found = outcomes.filter((each) => each.outcome === outcome).map(({ rule }) => rule.code);
    const wanted = example[outcome];
    if (wanted !== undefined && String(found) !== String(wanted))
      faults.push(`${outcome}: ${found.join(', ') || 'none'}, not ${wanted.join(', ') || 'none'}`);
  }
  return faults;
}

/** Whether the examples of a program show each verdict, and whether leaving out an answer can turn approval into denial. */
export async function faultsOfExamples(
  catalogue: ProgramCatalogue,
  code: string,
  examples: WorkedExample[],
): Promise<string[]> {
  if (catalogue.inForce(code, new Date())?.pack.decidedBy === 'person') return [];
  const faults = verdicts
    .filter((verdict) => !examples.some((example) => example.verdict === verdict))
    .map((verdict) => `examples.json has no example of ${verdict}`);
  for (const example of examples.filter(({ verdict }) => verdict === 'eligible')) {
    const program = inForceFor(catalogue, code, example);
    if (program === undefined) continue;
    for (const missing of Object.keys(example.answers)) {
      const { [missing]: _left, ...answers } = example.answers;
      const { verdict } = await evaluate(program, { ...example, answers });
      if (verdict === 'ineligible') faults.push(`${example.name}: is denied for want of ${missing}`);
    }
  }
  return faults;
}

const momentOf = ({ submittedAt }: WorkedExample): Date => new Date(submittedAt ?? Date.now());

const inForceFor = (catalogue: ProgramCatalogue, code: string, example: WorkedExample): Program | undefined =>
  catalogue.inForce(code, momentOf(example));

const evaluate = ({ pack }: Program, example: WorkedExample): Promise<Evaluation> =>
  evaluateRules(pack, {
    programCode: pack.code,
    channel: 'web',
    submittedAt: momentOf(example),
    answers: example.answers,
  });
