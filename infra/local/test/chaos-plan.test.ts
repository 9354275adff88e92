import { expect, test } from '@jest/globals';
import { planDisturbances, type Disturbance } from '../src/chaos/disturb/plan-disturbances.ts';

const targets = ['applications', 'kafka', 'postgres', 'sandbox', 'subscriptions', 'webhook-dispatcher'];

function first(count: number, seed: number, of = targets): Disturbance[] {
  const plan = planDisturbances(seed, of);
  return Array.from({ length: count }, () => plan.next().value);
}

test('the same seed gives the same plan, whatever the order of the processes, and another seed another', () => {
  expect(first(50, 7)).toEqual(first(50, 7, targets.toReversed()));
  expect(first(50, 7)).not.toEqual(first(50, 8));
});

test('a longer plan begins as a shorter one, so that a run can be continued', () => {
  expect(first(100, 7).slice(0, 30)).toEqual(first(30, 7));
});

test('every process has its turn in each round', () => {
  for (let seed = 0; seed < 20; seed++) {
    expect(
      first(6, seed)
        .map(({ target }) => target)
        .sort(),
    ).toEqual(targets);
  }
});

test('a hundred disturbances kill, freeze for less and for longer than a lease, hold, and keep Kafka and Postgres away for a minute', () => {
  const plan = first(100, 7);
  expect(new Set(plan.map(({ kind }) => kind))).toEqual(new Set(['kill', 'freeze', 'hold']));
  const freezes = plan.filter(({ kind }) => kind === 'freeze').map(({ durationMs }) => durationMs);
  expect(Math.min(...freezes)).toBeLessThan(10_000);
  expect(Math.max(...freezes)).toBeGreaterThan(10_000);
  const outages = plan.filter(({ durationMs }) => durationMs === 60_000).map(({ target }) => target);
  expect(outages.sort()).toEqual(['kafka', 'postgres']);
});
