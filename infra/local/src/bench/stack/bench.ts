import type { TestIssuer } from '@assistance/test-kit';
import type { ThrowawayStack } from '../../test-run/throwaway-stack.ts';

/** What every row works with. */
export interface Bench {
  stack: ThrowawayStack;
  issuer: TestIssuer;
  /** Logs and profiles go here. */
  folder: string;
  /** Dispatchers are profiled, which costs them some speed. */
  profile: boolean;
  /** How often a figure is measured of which the median counts. */
  runs: number;
  signal: AbortSignal;
  /** A line for whoever waits. */
  say: (line: string) => void;
}
