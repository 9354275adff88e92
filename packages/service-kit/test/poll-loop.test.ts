import { afterEach, describe, expect, test } from '@jest/globals';
import { createLogger, PollLoop } from '../src/index.ts';
import { waitUntil } from '@assistance/test-kit';

const log = createLogger({ service: 'test', level: 'silent' });
/** Of turns that failed, as logged. */
const delays: unknown[] = [];
log.warn = ({ delayMs }: { delayMs: unknown }) => delays.push(delayMs);
let loop: PollLoop | undefined;
afterEach(() => loop?.stop());

const start = (
  turn: (signal: AbortSignal) => Promise<boolean>,
  intervalMs = 60_000,
  restMs?: number,
): PollLoop => {
  loop = new PollLoop({ name: 'test', intervalMs, log, turn, ...(restMs !== undefined && { restMs }) });
  loop.start();
  return loop;
};
/** A promise that is settled from outside. */
const gate = () => Promise.withResolvers<boolean>();

test('takes its first turn at once, and the next after the interval', async () => {
  const turns: number[] = [];
  start(async () => (turns.push(performance.now()), false), 50);
  await waitUntil(() => turns.length >= 3);
  expect(turns[2]! - turns[0]!).toBeGreaterThanOrEqual(95);
});

test('goes on at once while there is more', async () => {
  let turns = 0;
  start(async () => ++turns < 1_000);
  await waitUntil(() => turns === 1_000, { timeoutMs: 2_000 });
});

describe('a wake-up', () => {
  test('ends the wait', async () => {
    let turns = 0;
    start(async () => (turns++, false));
    await waitUntil(() => turns === 1);
    loop?.wake();
    await waitUntil(() => turns === 2);
  });

  test('during a turn makes another follow, and only one however often', async () => {
    let turns = 0;
    const first = gate();
    start(() => (++turns === 1 ? first.promise : Promise.resolve(false)));
    await waitUntil(() => turns === 1);
    for (let i = 0; i < 10; i++) loop?.wake();
    first.resolve(false);
    await waitUntil(() => turns === 2);
    await new Promise(setImmediate);
    expect(turns).toBe(2);
  });

  test('during a turn is followed only after the rest, which gathers what comes meanwhile', async () => {
    const turns: number[] = [];
    const first = gate();
    start(() => (turns.push(performance.now()) === 1 ? first.promise : Promise.resolve(false)), 60_000, 50);
    await waitUntil(() => turns.length === 1);
    loop?.wake();
    first.resolve(false);
    const endedAt = performance.now();
    await new Promise(setImmediate);
    for (let i = 0; i < 10; i++) loop?.wake();
    await waitUntil(() => turns.length === 2);
    expect(turns[1]! - endedAt).toBeGreaterThanOrEqual(45);
    await new Promise(setImmediate);
    expect(turns).toHaveLength(2);
  });

  test('ends no rest, but a stop does', async () => {
    const turn = gate();
    start(() => turn.promise, 60_000, 60_000);
    loop?.wake();
    turn.resolve(false);
    await new Promise(setImmediate);
    await loop?.stop();
  });
});

test('never takes two turns at once', async () => {
  let under = 0;
  let most = 0;
  let turns = 0;
  start(async () => {
    most = Math.max(most, ++under);
    loop?.wake();
    await new Promise(setImmediate);
    under--;
    return ++turns < 50;
  });
  for (let i = 0; i < 5; i++) loop?.start();
  await waitUntil(() => turns >= 50);
  expect(most).toBe(1);
});

test('a turn that throws is taken again after a delay that grows, and is small again after a success', async () => {
  const at: number[] = [];
  delays.length = 0;
  start(async () => {
    at.push(performance.now());
    if (at.length === 4) return true;
    if (at.length <= 5) throw new Error('not yet');
    return false;
  });
  await waitUntil(() => at.length === 6);
  const waits = at.slice(1).map((time, i) => time - at[i]!);
  expect(delays).toEqual([100, 200, 400, 100]);
  for (const [i, least] of [95, 195, 395, 0, 95].entries()) expect(waits[i]).toBeGreaterThanOrEqual(least);
  expect(waits[3]).toBeLessThan(50);
});

describe('a stop', () => {
  test('waits for the turn under way, tells it, and lets none follow', async () => {
    const turn = gate();
    let signal: AbortSignal | undefined;
    let turns = 0;
    const stopping = start((given) => {
      turns++;
      signal = given;
      return turn.promise;
    });
    await waitUntil(() => turns === 1);
    let stopped = false;
    const stop = stopping.stop().then(() => (stopped = true));
    stopping.wake();
    await new Promise(setImmediate);
    expect([stopped, signal?.aborted]).toEqual([false, true]);
    turn.resolve(true);
    await stop;
    expect(turns).toBe(1);
  });

  test('ends a wait at once', async () => {
    let turns = 0;
    const stopping = start(async () => (turns++, false));
    await waitUntil(() => turns === 1);
    const startedAt = performance.now();
    await stopping.stop();
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  test('before the start lets nothing begin', async () => {
    let turns = 0;
    const unstarted = new PollLoop({ name: 'test', intervalMs: 1, log, turn: async () => (turns++, false) });
    await unstarted.stop();
    unstarted.start();
    await new Promise(setImmediate);
    expect(turns).toBe(0);
  });
});
