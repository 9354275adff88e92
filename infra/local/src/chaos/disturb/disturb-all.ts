import { setTimeout as sleep } from 'node:timers/promises';
import { allLinesOf, appendTo } from '../ledger/json-lines.ts';
import type { DisturbanceLine, InFlight } from '../ledger/ledger-lines.ts';
import type { Caller } from '../load/caller.ts';
import type { Victim } from '../open-platform.ts';
import { disturb, type Struck } from './disturb.ts';
import { planDisturbances, type Disturbance } from './plan-disturbances.ts';

const readyWithinMs = 120_000;

/** Goes through the plan up to `kills`, from where an earlier part of the run ended. */
export async function disturbAll(options: {
  file: string;
  seed: number;
  kills: number;
  victim: Victim;
  caller: Caller;
  inFlight: () => InFlight;
  signal: AbortSignal;
}): Promise<void> {
  const { file, seed, kills, victim, signal } = options;
  const done = (await disturbancesOf(file)).at(-1)?.n ?? 0;
  const write = appendTo<DisturbanceLine>(file);
  for (const disturbance of planDisturbances(seed, Object.keys(victim.addresses.processes))) {
    if (disturbance.n <= done) continue;
    if (disturbance.n > kills || signal.aborted) break;
    const struck = await disturb({ ...options, disturbance });
    const waits = disturbance.untilReady || disturbance.n === kills;
    const readyAt = waits ? await untilReady(victim, signal) : null;
    write({ ...struck, readyAt });
    console.log(`  ${String(struck.n).padStart(3)}/${kills}  ${inWords(disturbance, struck, readyAt)}`);
    await sleep(disturbance.pauseMs, undefined, { signal }).catch(() => {});
  }
}

export async function disturbancesOf(file: string): Promise<DisturbanceLine[]> {
  return allLinesOf<DisturbanceLine>(file);
}

/** When every process was ready. Rejects with the names of those that are not within two minutes. */
export async function untilReady(victim: Victim, signal: AbortSignal): Promise<number> {
  const giveUpAt = Date.now() + readyWithinMs;
  for (;;) {
    signal.throwIfAborted();
    const unready = await victim.unready();
    if (unready.length === 0) return Date.now();
    if (Date.now() > giveUpAt) {
      throw new Error(`Not ready again within ${readyWithinMs / 1000} s: ${unready.join(', ')}`);
    }
    await sleep(100, undefined, { signal });
  }
}

function inWords({ target, kind, durationMs }: Disturbance, struck: Struck, readyAt: number | null): string {
  const { submissions, questions, publishes, deliveries } = struck.inFlight;
  const what =
    kind === 'kill' ? `kill ${target}` : `${kind} ${target} for ${(durationMs / 1000).toFixed(1)} s`;
  const flying = `in flight: ${submissions + questions} calls, ${publishes} events, ${deliveries} deliveries`;
  const after =
    readyAt === null
      ? 'the next one follows'
      : `all ready ${((readyAt - struck.endedAt) / 1000).toFixed(1)} s later`;
  return `${what.padEnd(38)} ${flying.padEnd(50)} ${after}`;
}
