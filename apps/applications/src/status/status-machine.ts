import type { ApplicationStatus } from '@assistance/types';

/**
 * Every move there is (specification 3.1, design 3). The rules of the program move what is `submitted` and `validating`,
 * and a person's review what they left open; case management moves what is `eligible`; a caller withdraws, from fewer
 * statuses where the program says so. What is ineligible, awarded or withdrawn stays so.
 */
const moves: Record<ApplicationStatus, readonly ApplicationStatus[]> = {
  submitted: ['validating', 'withdrawn'],
  validating: ['eligible', 'ineligible', 'withdrawn'],
  eligible: ['awarded', 'ineligible', 'withdrawn'],
  ineligible: [],
  awarded: [],
  withdrawn: [],
};

export const canMove = (from: ApplicationStatus, to: ApplicationStatus): boolean => moves[from].includes(to);

/** Something can still happen to the application. */
export const isOpen = (status: ApplicationStatus): boolean => moves[status].length > 0;

export const openStatuses = (Object.keys(moves) as ApplicationStatus[]).filter(isOpen);
