import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { History } from './open-history.ts';
import type { Crash } from './open-world.ts';
import { programs, submit, withdraw, type Answers, type Model, type Submission } from './reference-model.ts';
import { crashAt, nth, nthOf, ofTransition, step } from './step.ts';

/** Those to which most can happen. */
const often = ['TEST-UNDETERMINED', 'TEST-SLOW', 'TEST-PENDING', 'TEST-ONE-OPEN'];
const keys = fc.constantFrom('key-1', 'key-2', 'key-3', 'key-4', 'key-5');

export const submission = fc
  .record({
    key: keys,
    program: fc.constantFrom(...programs, ...often),
    applicant: fc.nat({ max: 1 }),
    answers: fc.constantFrom<Answers>('none', 'low', 'low', 'high', 'ill'),
    copies: fc.constantFrom(1, 1, 3),
    crash: crashAt(['application', 'insert'], ['application_history', 'insert'], ['audit', 'insert']),
  })
  .map((given) => step('submit', given, runSubmission, () => true));

type Submitting = Submission & { key: string; copies: number; crash: Crash | null };
async function runSubmission(model: Model, history: History, given: Submitting): Promise<void> {
  const { key, copies, crash, program, applicant, answers } = given;
  const submitted = { program, applicant, answers };
  const send = () => history.submit(key, submitted);
  if (crash === null) {
    const all = await Promise.all(Array.from({ length: copies }, send));
    const expected = all.map(() => submit(model, key, submitted));
    // Of those at once any may be the first.
    const isReplay = (each: { replayed?: boolean }): boolean => each.replayed === true;
    const replays = (of: object[]): number => of.filter(isReplay).length;
    assert.equal(replays(all), replays(expected), 'how many are told that they are repeats');
    for (const answer of all) history.expectAnswer(answer, expected[0]!);
    await history.putOff();
    return;
  }
  let answer: Awaited<ReturnType<typeof send>> | undefined;
  const died = await history.crash(crash, async () => (answer = await send()));
  if (!died) history.expectAnswer(answer, submit(model, key, submitted));
  else {
    assert.notEqual(answer?.status, 201, 'nothing may be acknowledged by a process that died before');
    if (crash.committed) submit(model, key, submitted);
  }
  await history.putOff();
}

export const illShaped = fc.record({ key: keys }).map((given) =>
  step('submit ill-shaped', given, async (_model, history, { key }) => {
    history.expectAnswer(await history.submitIllShaped(key), { status: 400, code: 'validation_error' });
  }),
);

export const withdrawal = fc
  .record({
    nth,
    key: fc.option(fc.constantFrom('w-1', 'w-2')),
    crash: crashAt(...ofTransition),
  })
  .map((given) =>
    step('withdraw', given, async (model, history, { nth, key, crash }) => {
      const n = nthOf(model, nth);
      const send = () => history.withdraw(model, n, key);
      if (crash === null) {
        history.expectAnswer(await send(), withdraw(model, n, key));
        return;
      }
      let answer: Awaited<ReturnType<typeof send>> | undefined;
      const died = await history.crash(crash, async () => (answer = await send()));
      if (!died) history.expectAnswer(answer, withdraw(model, n, key));
      else if (crash.committed) withdraw(model, n, key);
    }),
  );
