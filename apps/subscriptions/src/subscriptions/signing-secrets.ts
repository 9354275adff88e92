import type { SealedSecret } from '@assistance/types';

export const MAX_LIVE_SECRETS = 3;

/** Those that sign at this moment. */
export const liveSecrets = (secrets: SealedSecret[], now: Date): SealedSecret[] =>
  secrets.filter(({ expiresAt }) => expiresAt === null || Date.parse(expiresAt) > now.getTime());

/**
 * The secrets once a new one is added: it is first and does not expire; the one before it signs on for the overlap, older
 * ones to the end that they have. Undefined when three are live already.
 */
export function addSecret(
  secrets: SealedSecret[],
  sealed: string,
  { now, overlapMs }: { now: Date; overlapMs: number },
): SealedSecret[] | undefined {
  const live = liveSecrets(secrets, now);
  if (live.length >= MAX_LIVE_SECRETS) return undefined;
  const overlapEnds = new Date(now.getTime() + overlapMs).toISOString();
  return [
    { sealed, createdAt: now.toISOString(), expiresAt: null },
    ...live.map((secret) => ({ ...secret, expiresAt: secret.expiresAt ?? overlapEnds })),
  ];
}
