import fc from 'fast-check';
import { newId } from '@assistance/service-kit';
import { determined, opened, reviewed } from '../support/case-record.ts';
import { hear, type CaseMessage } from './reference-model.ts';
import { crashAt, nth, nthOf, step } from './step.ts';

const caseIds = fc.constantFrom('case-1', 'case-1', 'case-2');

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

export const caseMessage = fc
  .record({
    nth,
    message: anyMessage,
    times: fc.constantFrom(1, 1, 2),
    crash: crashAt(['application', 'update'], ['audit', 'insert'], ['outbox', 'insert']),
  })
  .map((given) =>
    step('case management says', given, async (model, history, { nth, message, times, crash }) => {
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

export const unknownApplication = anyMessage.map((message) =>
  step(
    'case management says of nothing known',
    { message },
    async (_model, history, given) => history.send([recordOf(newId('app'), given.message)]),
    () => true,
  ),
);
