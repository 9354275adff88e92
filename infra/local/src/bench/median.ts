export const median = (values: number[]): number => quantile(values, 0.5);

/** The smallest value that so large a share of all does not exceed. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}
