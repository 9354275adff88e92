import { setTimeout as sleep } from 'node:timers/promises';
import got from 'got';
import type { DisturbanceLine, InFlight } from '../ledger/ledger-lines.ts';
import type { Caller } from '../load/caller.ts';
import type { Victim } from '../open-platform.ts';
import type { Disturbance } from './plan-disturbances.ts';
import { freezeFamily, sendSignal } from './process-family.ts';

const aimForMs = 2_000;
const reachForMs = 30_000;
const lookEveryMs = 2;

export type Struck = Omit<DisturbanceLine, 'readyAt'>;

/** Carries out one disturbance to its end; the target is free again afterwards, and perhaps not yet ready. */
export async function disturb(options: {
  disturbance: Disturbance;
  victim: Victim;
  caller: Caller;
  inFlight: () => InFlight;
  signal: AbortSignal;
}): Promise<Struck> {
  const { disturbance, victim, caller, signal } = options;
  const { n, target, kind, durationMs } = disturbance;
  const pid = await untilThere(victim, target, signal);
  if (disturbance.aimed) await untilSomethingIsHit();
  const inFlight = options.inFlight();
  const startedAt = Date.now();
  if (kind === 'kill') await kill();
  else if (kind === 'freeze') await freeze();
  else await hold();
  return {
    ...{ n, target, kind, durationMs, startedAt, inFlight },
    endedAt: Date.now(),
    hit: hitBy(target, inFlight),
  };

  async function untilSomethingIsHit(): Promise<void> {
    const giveUpAt = Date.now() + aimForMs;
    while (hitBy(target, options.inFlight()) === 0 && Date.now() < giveUpAt) await sleep(lookEveryMs);
  }

  /** Until the supervisor knows of it: from then on its absence shows. */
  async function kill(): Promise<void> {
    sendSignal(pid, 'SIGKILL');
    while (victim.processes()[target] === pid) await sleep(10, undefined, { signal });
  }

  async function freeze(): Promise<void> {
    const thaw = freezeFamily(pid);
    await sleep(durationMs, undefined, { signal }).catch(() => {});
    thaw();
  }

  async function hold(): Promise<void> {
    await setHold(true);
    await sleep(durationMs, undefined, { signal }).catch(() => {});
    await setHold(false);
  }

  /** By the sandbox's control, as a person would; the sandbox's own process by the supervisor's. */
  async function setHold(held: boolean): Promise<void> {
    if (target === 'sandbox') {
      await got.post(`${victim.control}/processes/${target}`, {
        json: { hold: held },
        timeout: { request: 60_000 },
      });
      return;
    }
    const url = `${victim.addresses.sandbox}/processes/${target}`;
    const { status } = await caller.untilAnswered({ method: 'post', url, json: { hold: held } });
    if (status !== 200)
      throw new Error(`${held ? 'Holding' : 'Releasing'} ${target} was refused with ${status}`);
  }
}

/** Its pid, once it has one: after the disturbance before it may still be on its way. */
async function untilThere(victim: Victim, target: string, signal: AbortSignal): Promise<number> {
  const giveUpAt = Date.now() + reachForMs;
  for (;;) {
    const pid = victim.processes()[target];
    if (pid !== undefined) return pid;
    if (Date.now() > giveUpAt)
      throw new Error(`${target} was not started again within ${reachForMs / 1000} s`);
    await sleep(50, undefined, { signal });
  }
}

/** What of the requests under way goes through a process. */
export function hitBy(target: string, { submissions, questions, publishes, deliveries }: InFlight): number {
  const service = target.replace(/-\d+$/, '');
  switch (service) {
    case 'applications':
      return submissions;
    case 'subscriptions':
      return questions;
    case 'sandbox':
      return submissions + questions;
    case 'webhook-dispatcher':
      return deliveries;
    case 'postgres':
      return submissions + questions + deliveries;
    case 'kafka':
      return publishes;
    default:
      return 0;
  }
}
