import { PollLoop, type Logger, type Part } from '@assistance/service-kit';
import { dropDays } from './drop-days.ts';

const EVERY_MS = 3_600_000;

/** Drops what is older than the days that are kept, once an hour. */
export function createRetention(options: { databaseUrl: string; retentionDays: number; log: Logger }): Part {
  const loop = new PollLoop({
    name: 'retention',
    intervalMs: EVERY_MS,
    log: options.log,
    turn: async (signal) => {
      await dropDays({ ...options, signal });
      return false;
    },
  });
  return { name: 'retention', start: () => loop.start(), stop: () => loop.stop() };
}
