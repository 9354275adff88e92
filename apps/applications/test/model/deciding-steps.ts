import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { History } from './open-history.ts';
import { claim, decide, isOpen, passTime, type Model } from './reference-model.ts';
import { crashAt, ofTransition, step } from './step.ts';

export const deciding = fc.record({ crash: crashAt(...ofTransition) }).map((given) =>
  step('decide', given, async (model, history, { crash }) => {
    if (crash === null) {
      await history.decide();
      for (let due = claim(model); due.length > 0; due = claim(model)) decide(model, due);
      return;
    }
    const died = await history.crash(crash, () => history.decideOnce());
    const isDecided = !died || (crash.table === 'outbox' && crash.committed);
    // Only the transition writes to the outbox; at the other points it dies while it takes up what is due.
    const isClaimed = isDecided || crash.table === 'outbox' || crash.committed;
    const due = isClaimed ? claim(model) : [];
    if (isDecided) decide(model, due);
    await history.putOff();
  }),
);

export const claiming = fc.constant(
  step('claim and die', {}, async (model, history) => {
    await history.claim();
    claim(model);
    await history.putOff();
  }),
);

export const timePassing = fc.constant(
  step('time passes', {}, async (model, history) => {
    await history.passTime();
    passTime(model);
  }),
);

/** What is left to do is done: nothing may be stuck then but what waits for a person or for case management. */
export async function finish(model: Model, history: History): Promise<void> {
  await history.passTime();
  passTime(model);
  await history.decide();
  for (let due = claim(model); due.length > 0; due = claim(model)) decide(model, due);
  await history.expectAll(model, [...model.applications.keys()]);
  const stuck = model.applications.filter((each) => isOpen(each) && each.turn.startsWith('rules'));
  assert.deepEqual(stuck, []);
}
