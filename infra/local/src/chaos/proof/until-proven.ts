import { setTimeout as sleep } from 'node:timers/promises';
import type { Claim } from './claim.ts';
import type { Proof } from './prove.ts';

const quietWithinMs = 120_000;
const lookEveryMs = 2_000;
/** What comes after all is well would come by then: a retry that should not be, an event that nobody made. */
const stillMs = 5_000;

/**
 * Proves again and again until all holds, for two minutes at most; then once more, after a stillness. The last proof
 * counts.
 */
export async function untilProven(prove: () => Promise<Proof>, signal: AbortSignal): Promise<Proof> {
  const giveUpAt = Date.now() + quietWithinMs;
  for (;;) {
    signal.throwIfAborted();
    const proof = await prove().catch((error: unknown) => {
      if (Date.now() > giveUpAt) throw error; // something is still away
      return undefined;
    });
    const missing = proof?.claims.find((claim) => !claim.holds);
    if (proof !== undefined && (missing === undefined || Date.now() > giveUpAt)) break;
    console.log(
      `  … ${missing === undefined ? 'not yet to be asked' : `${missing.claim}: ${missing.found}`}`,
    );
    await sleep(lookEveryMs, undefined, { signal });
  }
  await sleep(stillMs, undefined, { signal });
  return prove();
}

export const holds = ({ holds }: Claim): boolean => holds;
