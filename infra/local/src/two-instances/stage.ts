import type { Caller } from '../chaos/load/caller.ts';
import type { Victim } from '../chaos/open-platform.ts';
import type { Subscribers } from './start-subscribers.ts';

/** What each measure works with. */
export interface Stage {
  victim: Victim;
  caller: Caller;
  subscribers: Subscribers;
  topicPrefix: string;
  rounds: number;
  signal: AbortSignal;
}
