/** A fact that is there but cannot be compared: the rule is undetermined, never false. */
export class UnusableFact extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'UnusableFact';
  }
}

const numbers =
  (compare: (fact: number, value: number) => boolean) =>
  (fact: unknown, value: unknown): boolean => {
    if (!Number.isFinite(fact) || !Number.isFinite(value)) throw new UnusableFact('is not a number');
    return compare(fact as number, value as number);
  };

const sameType =
  (compare: (fact: unknown, value: unknown) => boolean) =>
  (fact: unknown, value: unknown): boolean => {
    if (typeof fact !== typeof value || typeof fact === 'object')
      throw new UnusableFact('is of another type');
    return compare(fact, value);
  };

const oneOf =
  (compare: (found: boolean) => boolean) =>
  (fact: unknown, value: unknown): boolean => {
    if (!Array.isArray(value) || typeof fact === 'object') throw new UnusableFact('is no single value');
    return compare(value.includes(fact));
  };

const listHas =
  (compare: (found: boolean) => boolean) =>
  (fact: unknown, value: unknown): boolean => {
    if (!Array.isArray(fact)) throw new UnusableFact('is no list');
    return compare(fact.includes(value));
  };

/** The operators that a pack may use. They replace the engine's own, which answer false when types do not fit. */
export const ruleOperators: Record<string, (fact: unknown, value: unknown) => boolean> = {
  equal: sameType((fact, value) => fact === value),
  notEqual: sameType((fact, value) => fact !== value),
  lessThan: numbers((fact, value) => fact < value),
  lessThanInclusive: numbers((fact, value) => fact <= value),
  greaterThan: numbers((fact, value) => fact > value),
  greaterThanInclusive: numbers((fact, value) => fact >= value),
  in: oneOf((found) => found),
  notIn: oneOf((found) => !found),
  contains: listHas((found) => found),
  doesNotContain: listHas((found) => !found),
};
