import fc from 'fast-check';
import type { History } from './open-history.ts';
import type { Crash } from './open-world.ts';
import type { Model } from './reference-model.ts';

export type Step = fc.AsyncCommand<Model, History>;
const hasSome = ({ applications }: Model): boolean => applications.length > 0;

/** One step of a history. It prints as what it is made of. */
export const step = <T extends object>(
  name: string,
  given: T,
  run: (model: Model, history: History, given: T) => Promise<void>,
  check: (model: Model) => boolean = hasSome,
): Step => ({
  check,
  run: (model, history) => run(model, history, given),
  toString: () => `${name}(${JSON.stringify(given)})`,
});

/** The statements of an operation, each a point at which its process may die. */
export const crashAt = (...points: [table: string, on: Crash['on']][]): fc.Arbitrary<Crash | null> =>
  fc.oneof(
    { weight: 2, arbitrary: fc.constant(null) },
    {
      weight: 1,
      arbitrary: fc
        .record({ point: fc.constantFrom(...points), committed: fc.boolean() })
        .map(({ point: [table, on], committed }) => ({ table, on, committed })),
    },
  );

/** The tables that a change of status writes. */
export const ofTransition: [string, Crash['on']][] = [
  ['application', 'update'],
  ['application_history', 'insert'],
  ['audit', 'insert'],
  ['outbox', 'insert'],
];

// Few, so that much happens to each.
export const nth = fc.nat({ max: 2 });

export const nthOf = (model: Model, nth: number): number => nth % model.applications.length;
