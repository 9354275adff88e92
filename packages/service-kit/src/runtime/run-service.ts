import type { Logger } from './logger.ts';
import type { Readiness } from './readiness.ts';

/** Something that is started and stopped with the service. */
export interface Part {
  name: string;
  /** Must not wait for a dependency that may be away: a part starts trying and says through readiness when it works. */
  start(): Promise<void> | void;
  /** Takes no new work, ends what is under way, lets go. */
  stop(): Promise<void> | void;
}

/** A little less than the 10 s that a stop may take. */
const STOP_DEADLINE_MS = 9_000;

/**
 * Starts the parts in order and stops them in reverse on SIGTERM or SIGINT, within 10 s. A stop that waits for a
 * dependency that is not there is cut short: nothing is lost by that. A part that cannot start, an error nobody handled,
 * or a stop that hangs without such a reason ends the process with 1: an orchestrator starts it again.
 */
export async function runService(options: {
  log: Logger;
  readiness: Readiness;
  parts: Part[];
}): Promise<void> {
  const { log, readiness, parts } = options;
  const started: Part[] = [];
  let stopping = false;
  let stoppingPart: string | undefined;

  const stop = async (exitCode: number): Promise<void> => {
    if (stopping) return;
    stopping = true;
    readiness.turnOff();
    setTimeout(() => {
      const absent = readiness.absent();
      log[absent.length > 0 ? 'warn' : 'error'](
        { deadlineMs: STOP_DEADLINE_MS, part: stoppingPart, absent },
        'service.stop_cut_short',
      );
      process.exit(absent.length > 0 ? exitCode : 1);
    }, STOP_DEADLINE_MS).unref();
    for (const part of started.reverse()) {
      stoppingPart = part.name;
      try {
        await part.stop();
      } catch (error) {
        log.error({ part: part.name, err: error }, 'service.part_stop_failed');
      }
    }
    log.info('service.stopped');
    process.exit(exitCode);
  };

  process.on('SIGTERM', () => void stop(0));
  process.on('SIGINT', () => void stop(0));
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'service.crashed');
    process.exit(1);
  });
  process.on('unhandledRejection', (error) => {
    log.fatal({ err: error }, 'service.crashed');
    process.exit(1);
  });

  for (const part of parts) {
    try {
      started.push(part);
      await part.start();
    } catch (error) {
      log.fatal({ part: part.name, err: error }, 'service.start_failed');
      await stop(1);
      return;
    }
    if (stopping) return;
  }
  log.info('service.started');
}
