import { seededRandom } from '../seeded-random.ts';

export interface Disturbance {
  /** From 1. */
  n: number;
  /** The name of a process, as in platform.json. */
  target: string;
  /** SIGKILL; SIGSTOP and later SIGCONT; or stopped by the supervisor and kept away. */
  kind: 'kill' | 'freeze' | 'hold';
  /** Of a freeze or a hold. */
  durationMs: number;
  /** Strikes at a moment at which something is in flight through the target. */
  aimed: boolean;
  /** Whether all has to be ready again before the next one; else that follows soon. */
  untilReady: boolean;
  /** After it, before the next. */
  pauseMs: number;
}

/** Leases and Kafka's sessions last 10 s: a freeze is clearly shorter or clearly longer. */
const shortFreezeMs: Range = [1_000, 6_000];
const longFreezeMs: Range = [11_500, 14_000];
const holdMs: Range = [3_000, 9_000];
/** Once in a hundred each: an outage that no memory bridges. */
const outages: Record<number, string> = { 20: 'postgres', 40: 'kafka' };
const outageMs = 60_000;

type Range = [least: number, most: number];

/**
 * An endless plan, the same for the same seed and targets, so that a run can be repeated and continued: in rounds of all
 * targets in random order, so that none is left out.
 */
export function* planDisturbances(seed: number, targets: string[]): Generator<Disturbance, never> {
  const random = seededRandom(seed);
  const within = ([least, most]: Range): number => Math.round(least + random() * (most - least));
  let round: string[] = [];
  for (let n = 1; ; n++) {
    if (round.length === 0) round = shuffled([...targets].sort(), random);
    const target = round.shift()!;
    const dice = random();
    const kind = dice < 0.6 ? 'kill' : dice < 0.85 ? 'freeze' : 'hold';
    const freezeMs = within(random() < 0.4 ? shortFreezeMs : longFreezeMs);
    const durationMs = { kill: 0, freeze: freezeMs, hold: within(holdMs) }[kind];
    const rest = {
      aimed: random() < 0.6,
      untilReady: random() < 0.7,
      pauseMs: within([500, 3_000]),
    };
    const outage = outages[n];
    yield outage !== undefined && targets.includes(outage)
      ? { n, ...rest, target: outage, kind: 'hold', durationMs: outageMs, untilReady: true }
      : { n, target, kind, durationMs, ...rest };
  }
}

function shuffled(names: string[], random: () => number): string[] {
  return names
    .map((name) => ({ name, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ name }) => name);
}
