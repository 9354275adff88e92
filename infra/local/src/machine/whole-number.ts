import { MachineFault } from './machine-fault.ts';

/** A variable that holds a whole number within limits, or its fallback. */
export function wholeNumber(
  environment: NodeJS.ProcessEnv,
  {
    name,
    fallback,
    least,
    most,
    usage,
  }: { name: string; fallback: number; least: number; most: number; usage: string },
): number {
  const text = environment[name];
  if (text === undefined || text === '') return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new MachineFault(`${name} is a whole number from ${least} to ${most}.\n${usage}`);
}
