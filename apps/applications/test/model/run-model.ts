// What `npm run model` runs: RUNS random histories in batches, a line of RESULTS for each batch that held. A run that was
// broken off goes on after the batches that its SEED has there.
import { keptLines } from '../support/kept-lines.ts';
import { checkHistories } from './check-histories.ts';
import { openWorld } from './open-world.ts';

const BATCH = 50;

interface BatchLine {
  at: string;
  seed: number;
  batch: number;
  histories: number;
  seconds: number;
  steps: Record<string, number>;
}

const { RUNS = '2000', SEED = '1', RESULTS = '' } = process.env;
const [runs, seed] = [Number(RUNS), Number(SEED)];
const { lines, keep } = keptLines<BatchLine>(RESULTS);
const held = lines.filter((line) => line.seed === seed);
const world = await openWorld();
try {
  for (let done = 0, batch = 0; done < runs; done += BATCH, batch++) {
    if (held.some((line) => line.batch === batch)) continue;
    const startedAt = performance.now();
    const size = Math.min(BATCH, runs - done);
    // Each batch has numbers of its own, so that it does not matter which ran before it.
    const checked = await checkHistories(world, { seed: seed * 100_003 + batch, runs: size });
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    const line: BatchLine = { at: new Date().toISOString(), seed, batch, seconds, ...checked };
    if (size === BATCH) keep(line);
    held.push(line);
    console.log(`${done + size}/${runs} histories, no divergence (${seconds} s)`);
  }
} finally {
  await world.close();
}
const steps: Record<string, number> = {};
for (const line of held)
  for (const [name, count] of Object.entries(line.steps)) steps[name] = (steps[name] ?? 0) + count;
console.table(steps);
