import { median, quantile } from '../median.ts';
import type { Figure } from '../row.ts';
import type { Bench } from './bench.ts';
import { measureMachine } from './measure-bare-loop.ts';

/** The p99 of the healthy beside trouble, against without it; the median of three pairs. */
export async function compareHealthy(
  bench: Bench,
  what: string,
  phases: { without: () => Promise<number[]>; beside: () => Promise<number[]> },
): Promise<Figure> {
  const limit = await measureMachine(bench);
  const measured = [];
  for (let pair = 0; pair < bench.runs; pair += 1) {
    const without = quantile(await phases.without(), 0.99);
    const beside = quantile(await phases.beside(), 0.99);
    measured.push({ without, beside, ratio: beside / without });
  }
  const ratio = median(measured.map((pair) => pair.ratio));
  const middle = measured.find((pair) => pair.ratio === ratio)!;
  return {
    what,
    value: middle.beside,
    unit: 'ms',
    limit,
    ratio,
    of: `${middle.without.toFixed(1)} ms`,
    goal: { atMost: 1.3 },
    remarks: [`all: ${measured.map((pair) => pair.ratio.toFixed(2)).join(' ')}`],
  };
}
