import fc from 'fast-check';
import { finish } from './deciding-steps.ts';
import { histories } from './histories.ts';
import { openHistory } from './open-history.ts';
import type { World } from './open-world.ts';
import { createModel } from './reference-model.ts';

export interface Checked {
  /** Histories without a divergence. */
  histories: number;
  /** How often each step was planned, and how many of them with a point at which the process dies. */
  steps: Record<string, number>;
}

const MOST_STEPS = 40;

/**
 * Runs so many random histories, the same ones for the same seed, against the service and the reference model. Throws the
 * shortest history found in which they differ.
 */
export async function checkHistories(
  world: World,
  { seed, runs }: { seed: number; runs: number },
): Promise<Checked> {
  const steps: Record<string, number> = {};
  const count = (name: string): void => void (steps[name] = (steps[name] ?? 0) + 1);
  await fc.assert(
    fc.asyncProperty(histories(MOST_STEPS), async (commands) => {
      const history = openHistory(world);
      const model = createModel();
      await fc.asyncModelRun(() => ({ model, real: history }), commands);
      await finish(model, history);
      for (const command of commands) {
        const text = String(command);
        count(/^[^(]*/.exec(text)![0]);
        if (text.includes('"committed"')) count('meant to die at a point');
      }
    }),
    { seed, numRuns: runs },
  );
  return { histories: runs, steps };
}
