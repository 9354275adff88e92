import { setTimeout as sleep } from 'node:timers/promises';
import got from 'got';
import { untilReady } from '../chaos/disturb/disturb-all.ts';
import { freezeFamily, sendSignal } from '../chaos/disturb/process-family.ts';
import type { Finding } from './run-two-instances.ts';
import type { Stage } from './stage.ts';
import { startTraffic, ways, type Traffic, type Way } from './steady-traffic.ts';
import { untilBothOwn } from './until-both-own.ts';

interface Strike {
  how: 'killed' | 'stopped' | 'frozen';
  /** The longest that anything may wait. */
  limitMs: number;
  /** Traffic goes on for so long afterwards. */
  watchMs: number;
  /** What came twice must first have come so shortly before: in flight, or answered and not yet recorded. */
  unrecordedMs: number;
}

const strikes: Strike[] = [
  { how: 'killed', limitMs: 15_000, watchMs: 15_000, unrecordedMs: 1_000 },
  { how: 'stopped', limitMs: 2_000, watchMs: 4_000, unrecordedMs: 0 },
  { how: 'frozen', limitMs: 15_000, watchMs: 20_000, unrecordedMs: 1_000 },
];
const targets = ['applications-2', 'subscriptions-2', 'webhook-dispatcher-2'];
const steadyMs = 2_000;
const undisturbedMs = 10_000;

/** Takes one instance of each service away, at once or in peace, and leaves its work to the other. */
export async function* takeOver(stage: Stage): AsyncGenerator<Finding> {
  yield await leaveAlone(stage);
  for (const target of targets) for (const strike of strikes) yield await takeAway(stage, target, strike);
}

async function leaveAlone(stage: Stage): Promise<Finding> {
  await untilBothOwn(stage);
  const traffic = await startTraffic(stage);
  await sleep(undisturbedMs, undefined, { signal: stage.signal });
  await traffic.finish();
  const doubled = traffic.doubled().length;
  return {
    what: 'nothing struck',
    found: `${inWords(traffic.longestWaits())}; ${doubled} came twice`,
    holds: doubled === 0,
  };
}

async function takeAway(stage: Stage, target: string, strike: Strike): Promise<Finding> {
  const { rounds, victim, signal } = stage;
  const longest: Partial<Record<Way, number>> = {};
  let doubled = 0;
  let unexplained = 0;
  for (let round = 0; round < rounds; round++) {
    await untilBothOwn(stage);
    const traffic = await startTraffic(stage);
    await sleep(steadyMs + Math.random() * 1_000, undefined, { signal });
    const struckAt = Date.now();
    const letBack = await takeAwayOnce();
    try {
      await sleep(struckAt + strike.watchMs - Date.now(), undefined, { signal });
      await traffic.finish();
    } finally {
      await letBack();
    }
    await untilReady(victim, signal);
    const waits = traffic.longestWaits();
    for (const way of ways) longest[way] = Math.max(longest[way] ?? 0, waits[way]);
    const times = traffic.doubled();
    doubled += times.length;
    unexplained += times.filter(([first]) => !mayComeTwice(first!, struckAt, strike)).length;
  }
  // A gateway that does not look whether anybody answers goes on to ask the frozen one; ours is such a one.
  const limited = ways.filter((way) => strike.how !== 'frozen' || way !== 'submission → answered');
  return {
    what: `${target} ${strike.how}, ${rounds} times`,
    found: `${inWords(longest as Record<Way, number>)}; ${doubled} came twice`,
    holds: unexplained === 0 && limited.every((way) => longest[way]! <= strike.limitMs),
  };

  async function takeAwayOnce(): Promise<() => unknown> {
    const pid = victim.processes()[target]!;
    if (strike.how === 'frozen') return freezeFamily(pid);
    if (strike.how === 'killed') sendSignal(pid, 'SIGKILL');
    await setHold(true);
    return () => setHold(false);
  }

  /** Through the supervisor itself: a kept process ends by SIGTERM, and one that is killed does not come back. */
  async function setHold(hold: boolean): Promise<void> {
    await got.post(`${victim.control}/processes/${target}`, { json: { hold }, timeout: { request: 60_000 } });
  }
}

const mayComeTwice = (first: number, struckAt: number, { unrecordedMs }: Strike): boolean =>
  unrecordedMs > 0 && first >= struckAt - unrecordedMs && first <= struckAt + unrecordedMs;

const inWords = (waits: ReturnType<Traffic['longestWaits']>): string =>
  ways.map((way) => `${way} ${(waits[way] / 1000).toFixed(2)} s`).join(', ');
