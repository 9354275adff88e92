import assert from 'node:assert/strict';
import fc from 'fast-check';
import { applicationStatuses } from '@assistance/types';
import { newId } from '@assistance/service-kit';
import { determined, opened, reviewed } from '../support/case-record.ts';
import { claim, decide, hear, passTime, submit, withdraw } from './reference-model.ts';
import {
  isOpen,
  programs,
  type Answers,
  type CaseMessage,
  type Model,
  type Submission,
} from './reference-model.ts';
import type { Crash } from './open-world.ts';
import type { History } from './open-history.ts';

type Command = fc.AsyncCommand<Model, History>;
const hasSome = ({ applications }: Model): boolean => applications.length > 0;
const nthOf = (model: Model, nth: number): number => nth % model.applications.length;

/** A command that prints as what it is made of. */
const command = <T extends object>(
  name: string,
  given: T,
  run: (model: Model, history: History, given: T) => Promise<void>,
  check: (model: Model) => boolean = hasSome,
): Command => ({
  check,
  run: (model, history) => run(model, history, given),
  toString: () => `${name}(${JSON.stringify(given)})`,
});

/** The statements of an operation, each a point at which its process may die. */
const crashAt = (...points: [table: string, on: Crash['on']][]): fc.Arbitrary<Crash | null> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc
        .record({ point: fc.constantFrom(...points), committed: fc.boolean() })
        .map(({ point: [table, on], committed }) => ({ table, on, committed })),
    },
  );
const ofTransition: [string, Crash['on']][] = [
  ['application', 'update'],
  ['application_history', 'insert'],
  ['audit', 'insert'],
  ['outbox', 'insert'],
];

// Few, so that much happens to each.
const nth = fc.nat({ max: 2 });
const often = ['TEST-UNDETERMINED', 'TEST-SLOW', 'TEST-PENDING', 'TEST-ONE-OPEN'];
const keys = fc.constantFrom('key-1', 'key-2', 'key-3', 'key-4', 'key-5');
const caseIds = fc.constantFrom('case-1', 'case-1', 'case-2');

const submission = fc
  .record({
    key: keys,
    program: fc.constantFrom(...programs, ...often),
    applicant: fc.nat({ max: 1 }),
    answers: fc.constantFrom<Answers>('none', 'low', 'low', 'high', 'ill'),
    copies: fc.constantFrom(1, 1, 3),
    crash: crashAt(['application', 'insert'], ['application_history', 'insert'], ['audit', 'insert']),
  })
  .map((given) => command('submit', given, runSubmission, () => true));

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

const illShaped = fc.record({ key: keys }).map((given) =>
  command('submit ill-shaped', given, async (_model, history, { key }) => {
    history.expectAnswer(await history.submitIllShaped(key), { status: 400, code: 'validation_error' });
  }),
);

const withdrawal = fc
  .record({
    nth,
    key: fc.option(fc.constantFrom('w-1', 'w-2')),
    crash: crashAt(...ofTransition),
  })
  .map((given) =>
    command('withdraw', given, async (model, history, { nth, key, crash }) => {
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

const deciding = fc.record({ crash: crashAt(...ofTransition) }).map((given) =>
  command('decide', given, async (model, history, { crash }) => {
    if (crash === null) {
      await history.decide();
      for (let due = claim(model); due.length > 0; due = claim(model)) decide(model, due);
      return;
    }
    const died = await history.crash(crash, () => history.decideOnce());
    const isDecided = !died || (crash.table === 'outbox' && crash.committed);
    // Only the transition writes to the outbox; at the other points it dies while it takes up what is due.
    const isClaimed = isDecided || crash.table === 'outbox' || crash.committed;
    const due = isClaimed ? claim(model) : [];
    if (isDecided) decide(model, due);
    await history.putOff();
  }),
);

const claiming = fc.constant(
  command('claim and die', {}, async (model, history) => {
    await history.claim();
    claim(model);
    await history.putOff();
  }),
);

const timePassing = fc.constant(
  command('time passes', {}, async (model, history) => {
    await history.passTime();
    passTime(model);
  }),
);

const determination = fc.record({
  kind: fc.constant('determined' as const),
  caseId: caseIds,
  outcome: fc.constantFrom('awarded' as const, 'ineligible' as const),
});
const anyMessage: fc.Arbitrary<CaseMessage> = fc.oneof(
  fc.record({ kind: fc.constant('opened' as const), caseId: caseIds }),
  ...[determination, determination],
  fc.record({
    kind: fc.constant('reviewed' as const),
    outcome: fc.constantFrom('eligible' as const, 'ineligible' as const),
  }),
);

const recordOf = (applicationId: string, message: CaseMessage) => {
  if (message.kind === 'opened') return opened(applicationId, message.caseId);
  if (message.kind === 'determined') return determined(applicationId, message.outcome, message.caseId);
  return reviewed(applicationId, message.outcome);
};

const caseMessage = fc
  .record({
    nth,
    message: anyMessage,
    times: fc.constantFrom(1, 1, 2),
    crash: crashAt(['application', 'update'], ['audit', 'insert'], ['outbox', 'insert']),
  })
  .map((given) =>
    command('case management says', given, async (model, history, { nth, message, times, crash }) => {
      const n = nthOf(model, nth);
      const record = recordOf(await history.idOf(model, n), message);
      const records = Array.from({ length: times }, () => record);
      const died = crash === null ? false : await history.crash(crash, () => history.send(records));
      if (crash === null) await history.send(records);
      const application = model.applications[n]!;
      for (let time = 0; time < times; time++) hear(application, message);
      // Its offset was not committed: all of them came again, and the first for the second time.
      if (died && crash?.committed === true) hear(application, message);
    }),
  );

const unknownApplication = anyMessage.map((message) =>
  command(
    'case management says of nothing known',
    { message },
    async (_model, history, given) => history.send([recordOf(newId('app'), given.message)]),
    () => true,
  ),
);

const reading = fc
  .record({ nth })
  .map((given) =>
    command('read', given, async (model, history, { nth }) => history.expectAll(model, [nthOf(model, nth)])),
  );

const listing = fc
  .record({
    program: fc.option(fc.constantFrom(...programs)),
    status: fc.option(fc.constantFrom(...applicationStatuses)),
    limit: fc.integer({ min: 1, max: 3 }),
  })
  .map((given) =>
    command('list', given, async (model, history, { program, status, limit }) => {
      const wanted = [...model.applications.keys()].filter((n) => {
        const { submission, status: has } = model.applications[n]!;
        return (program === null || submission.program === program) && (status === null || has === status);
      });
      await history.expectListed(model, wanted, { program, status, limit });
    }),
  );

/** Histories of up to so many steps, of any mix. */
export const histories = (maxCommands: number) =>
  fc.commands(
    [
      ...[submission, submission, deciding, deciding, withdrawal],
      ...[caseMessage, caseMessage, caseMessage, caseMessage, caseMessage],
      ...[illShaped, claiming, timePassing, unknownApplication, reading, listing],
    ],
    { maxCommands, size: 'max' },
  );

/** What is left to do is done: nothing may be stuck then but what waits for a person or for case management. */
export async function finish(model: Model, history: History): Promise<void> {
  await history.passTime();
  passTime(model);
  await history.decide();
  for (let due = claim(model); due.length > 0; due = claim(model)) decide(model, due);
  await history.expectAll(model, [...model.applications.keys()]);
  const stuck = model.applications.filter((each) => isOpen(each) && each.turn.startsWith('rules'));
  assert.deepEqual(stuck, []);
}
