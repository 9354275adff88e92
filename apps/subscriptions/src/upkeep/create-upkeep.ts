import { PollLoop, type Logger, type Part } from '@assistance/service-kit';
import { burySubscriptions } from './bury-subscriptions.ts';
import { forgetReplays } from './forget-replays.ts';
import { republishSubscriptions, type Republishing } from './republish-subscriptions.ts';

const MINUTE_MS = 60_000;

/** What is done for time's sake alone: each duty looks once a minute for what has become due. */
export function createUpkeep(deps: Republishing & { log: Logger }): Part {
  const duties = { republishSubscriptions, burySubscriptions, forgetReplays };
  const loops = Object.entries(duties).map(
    ([name, duty]) =>
      new PollLoop({ name, intervalMs: MINUTE_MS, log: deps.log, turn: () => duty(deps, new Date()) }),
  );
  return {
    name: 'upkeep',
    start: () => loops.forEach((loop) => loop.start()),
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}
