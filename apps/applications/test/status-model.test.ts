import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkHistories } from './model/check-histories.ts';
import { openWorld, type World } from './model/open-world.ts';

// `npm run model` runs thousands of them.

let world: World;
beforeAll(async () => {
  world = await openWorld();
}, 60_000);
afterAll(() => world?.close());

test('15 random histories of requests, messages and crashes go as the reference model says', async () => {
  const { steps } = await checkHistories(world, { seed: 7, runs: 15 });
  expect(steps).toMatchObject({ submit: expect.any(Number), withdraw: expect.any(Number) });
}, 180_000);
