const DAY_MS = 86_400_000;

/** Pure. An event is kept with its whole day (UTC) until all of that is older than the days that are kept. */
export const expiresAt = (arrivedAt: Date, retentionDays: number): Date =>
  new Date((Math.floor(arrivedAt.getTime() / DAY_MS) + 1 + retentionDays) * DAY_MS);
