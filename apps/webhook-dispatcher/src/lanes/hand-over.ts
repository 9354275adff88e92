import { PollLoop, type Logger, type Part, type Sql } from '@assistance/service-kit';
import { readLog, readLogHead } from '../log/event-log.ts';
import type { LaneOwner } from './lane-owner.ts';

const EVENTS_PER_TURN = 500;
const POLL_MS = 500;

/**
 * Reads the new end of the log once for all lanes of this instance, and hands it over. Woken when events were appended
 * here or elsewhere. A lane that is loaded later reads for itself what lies before.
 */
export function createHandOver(options: {
  sql: Sql;
  owner: LaneOwner;
  log: Logger;
}): Part & { wake(): void } {
  const { sql, owner, log } = options;
  let position: number | undefined;
  const loop = new PollLoop({
    name: 'hand-over',
    intervalMs: POLL_MS,
    log,
    turn: async () => {
      if (position === undefined) {
        position = await readLogHead(sql);
        // What was loaded before read up to some other position: it reads for itself what lies between.
        owner.readAnew();
      }
      const { events, more } = await readLog(sql, position, EVENTS_PER_TURN);
      if (events.length === 0) return false;
      position = events.at(-1)!.seq;
      owner.handOver(events);
      return more;
    },
  });
  return { name: 'hand-over', wake: () => loop.wake(), start: () => loop.start(), stop: () => loop.stop() };
}
