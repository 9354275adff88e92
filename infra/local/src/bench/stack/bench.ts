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
  signal: AbortSignal;
  /** A line for whoever waits. */
  say: (line: string) => void;
}
