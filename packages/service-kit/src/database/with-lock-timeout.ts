import { setTimeout as delay } from 'node:timers/promises';
import { sqlStateOf } from './sql-state.ts';

const LOCK_NOT_AVAILABLE = '55P03';
const PAUSE_MS = 50;
const MOST_TRIES = 200;

/**
 * Does what gives up waiting for a lock soon, again and again: while it waits, others queue behind it, so it steps aside
 * between two tries. Gives up after 200.
 */
export async function withLockTimeout<T>(step: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await step();
    } catch (error) {
      if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE || tries === MOST_TRIES) throw error;
      await delay(PAUSE_MS);
    }
  }
}
