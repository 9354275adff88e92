import type { DisturbanceLine } from '../ledger/ledger-lines.ts';

/** Something that must hold, and what was found. */
export interface Claim {
  claim: string;
  holds: boolean;
  found: string;
}

/** That there is nothing of a kind: says how many there are, and names a few. */
export function none(claim: string, faults: string[], of: string): Claim {
  const examples = faults.slice(0, 3).join('; ');
  return {
    claim,
    holds: faults.length === 0,
    found: faults.length === 0 ? of : `${faults.length} of ${of}: ${examples}`,
  };
}

export const accepted = (status: number): boolean => status >= 200 && status < 300;

/** Pure. A disturbance of what does nothing proves little. */
export function hitEnough(disturbances: DisturbanceLine[]): Claim {
  const hits = disturbances.filter(({ hit }) => hit > 0).length;
  return {
    claim: 'a third of the disturbances hit requests in flight',
    holds: hits * 3 >= disturbances.length,
    found: `${hits} of ${disturbances.length}`,
  };
}
