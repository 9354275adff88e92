import type { Bench } from './stack/bench.ts';

/** One or more figures that are measured together; run by its name. */
export interface Row {
  name: string;
  about: string;
  run: (bench: Bench) => Promise<Figure[]>;
}

/** What the machine could do at that moment, measured in the same run. */
export interface Limit {
  what: string;
  perSecond: number;
  /** The same on a quiet machine of this kind. */
  quietPerSecond: number;
}

export interface Figure {
  what: string;
  value: number;
  unit: '/s' | 'ms' | 'MB' | '%' | 's' | '';
  limit: Limit;
  /** Of the value to the limit, or to another value of the row that `of` names. */
  ratio?: number;
  of?: string;
  /** For the ratio if there is one, else for the value. */
  goal?: { atLeast: number } | { atMost: number };
  remarks?: string[];
}

const busyBelow = 0.8;

/** Others used the machine: its limit was far below that of a quiet one. */
export const wasBusy = ({ limit }: Figure): boolean => limit.perSecond < busyBelow * limit.quietPerSecond;

export function isMet({ goal, ratio, value }: Figure): boolean | undefined {
  if (goal === undefined) return undefined;
  const judged = ratio ?? value;
  return 'atLeast' in goal ? judged >= goal.atLeast : judged <= goal.atMost;
}
