import type { ApplicationStatus } from '@assistance/types';

/** Who moves an application, from which statuses to which (specification 3.1, design 3). Nothing else moves one. */
export const moves = {
  begin_validation: { from: ['submitted'], to: 'validating' },
  find_eligible: { from: ['validating'], to: 'eligible' },
  find_ineligible: { from: ['validating'], to: 'ineligible' },
  award: { from: ['eligible'], to: 'awarded' },
  deny: { from: ['eligible'], to: 'ineligible' },
  withdraw: { from: ['submitted', 'validating', 'eligible'], to: 'withdrawn' },
} as const satisfies Record<string, { from: readonly ApplicationStatus[]; to: ApplicationStatus }>;

export type Move = keyof typeof moves;

export const permits = (move: Move, from: ApplicationStatus): boolean =>
  (moves[move].from as readonly ApplicationStatus[]).includes(from);

/** The statuses in which something can still happen to an application; in them it counts as open. */
export const openStatuses: readonly ApplicationStatus[] = ['submitted', 'validating', 'eligible'];
export const isOpen = (status: ApplicationStatus): boolean => openStatuses.includes(status);
