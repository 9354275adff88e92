import fc from 'fast-check';
import { applicationStatuses } from '@assistance/types';
import { programs } from './reference-model.ts';
import { nth, nthOf, step } from './step.ts';

export const reading = fc
  .record({ nth })
  .map((given) =>
    step('read', given, async (model, history, { nth }) => history.expectAll(model, [nthOf(model, nth)])),
  );

export const listing = fc
  .record({
    program: fc.option(fc.constantFrom(...programs)),
    status: fc.option(fc.constantFrom(...applicationStatuses)),
    limit: fc.integer({ min: 1, max: 3 }),
  })
  .map((given) =>
    step('list', given, async (model, history, { program, status, limit }) => {
      const wanted = [...model.applications.keys()].filter((n) => {
        const { submission, status: has } = model.applications[n]!;
        return (program === null || submission.program === program) && (status === null || has === status);
      });
      await history.expectListed(model, wanted, { program, status, limit });
    }),
  );
