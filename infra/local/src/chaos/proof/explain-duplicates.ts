import type { DisturbanceLine, ReceptionLine } from '../ledger/ledger-lines.ts';
import { accepted } from './claim.ts';

export interface Duplicates {
  total: number;
  /** By the number of the disturbance that made them. */
  byDisturbance: Map<number, number>;
  /** Ids of events that came again though nothing had happened when they came first. */
  unexplained: string[];
}

/** A delivery may have been answered so long before it is recorded, on a machine that is busy. */
const unrecordedMs = 2_000;
/** Of Postgres' own return, where the next disturbance came before all was ready again. */
const returnMs = 15_000;
/** A service may take that long to stop. */
const stopMs = 10_000;
/** So many deliveries of one subscriber a dispatcher may have in flight when it is frozen: LANE_CONCURRENCY. */
const mostInFlight = 8;
/** What a run that was broken off was just doing is not written down. */
const unwrittenMs = 30_000;

/**
 * Pure. An event comes again only if its delivery was in flight, or answered and not yet recorded, when the dispatcher or
 * its database was struck, or when the run was broken off, to be gone on with at `goneOnAt`: each reception that was
 * followed by another must lie in such a moment. What comes in a replay comes again because it was asked for; within one
 * replay the same holds. What was in flight when a dispatcher froze may leave it when it wakes, when the other has long
 * delivered it.
 */
export function explainDuplicates(
  receptions: ReceptionLine[][],
  disturbances: DisturbanceLine[],
  goneOnAt: number[] = [],
): Duplicates {
  const breaks = goneOnAt.map((to) => breakBefore(to, receptions));
  const moments = [...breaks, ...disturbances.flatMap(momentsOf)];
  const duplicates: Duplicates = { total: 0, byDisturbance: new Map(), unexplained: [] };
  for (const ofSubscriber of receptions) {
    const lastAt = new Map<string, number>();
    /** How many left each frozen dispatcher when it woke. */
    const woken = new Map<Moment, number>();
    for (const { status, id, at, replayId } of ofSubscriber) {
      if (!accepted(status)) continue;
      const delivery = `${id} ${replayId}`;
      const before = lastAt.get(delivery);
      lastAt.set(delivery, at);
      if (before === undefined) continue;
      duplicates.total += 1;
      const moment = moments.findLast((each) => {
        if (before < each.from || before > each.to) return false;
        if (each.againFrom === undefined) return true;
        const isAfterWaking = at >= each.againFrom && at <= each.againFrom + unrecordedMs;
        return isAfterWaking && (woken.get(each) ?? 0) < mostInFlight;
      });
      if (moment?.againFrom !== undefined) woken.set(moment, (woken.get(moment) ?? 0) + 1);
      if (moment === undefined) duplicates.unexplained.push(id);
      else duplicates.byDisturbance.set(moment.n, (duplicates.byDisturbance.get(moment.n) ?? 0) + 1);
    }
  }
  return duplicates;
}

interface Moment {
  n: number;
  from: number;
  to: number;
  /** Explains only what comes again right after this. */
  againFrom?: number;
}

function breakBefore(to: number, receptions: ReceptionLine[][]): Moment {
  const last = receptions.map((of) => of.findLast(({ at }) => at < to)?.at ?? 0);
  return { n: 0, from: Math.max(...last) - unwrittenMs, to };
}

/** When a delivery that was answered could not be recorded because of the disturbance. */
function momentsOf({ n, target, kind, startedAt, endedAt, readyAt }: DisturbanceLine): Moment[] {
  const around = (from: number, to: number): Moment => ({
    n,
    from: from - unrecordedMs,
    to: to + unrecordedMs,
  });
  // While the database is away deliveries go on for as long as the lease lasts, and nothing is recorded.
  if (target === 'postgres') return [around(startedAt, readyAt ?? endedAt + returnMs)];
  if (!target.startsWith('webhook-dispatcher')) return [];
  switch (kind) {
    case 'kill':
      return [around(startedAt, startedAt)];
    case 'freeze':
      return [
        { n, from: startedAt, to: endedAt, againFrom: endedAt },
        around(startedAt, startedAt),
        around(endedAt, endedAt),
      ];
    case 'hold':
      return [around(startedAt, startedAt + stopMs)];
    default:
      return kind satisfies never;
  }
}
