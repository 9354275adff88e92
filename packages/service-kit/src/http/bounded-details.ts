import type { ErrorDetail } from '@assistance/types';

const MAX_DETAILS = 100;
const MAX_POINTER_LENGTH = 256;

/**
 * The details of an error as they are sent: a body of 256 KiB can have so many faults, in places with names so long, that
 * telling each would take gigabytes. The first hundred are told; a place too deep to be named is named by what is around it.
 */
export const boundedDetails = (details: ErrorDetail[]): ErrorDetail[] =>
  details
    .slice(0, MAX_DETAILS)
    .map((detail) =>
      detail.pointer === undefined ? detail : { ...detail, pointer: boundedPointer(detail.pointer) },
    );

function boundedPointer(pointer: string): string {
  if (pointer.length <= MAX_POINTER_LENGTH) return pointer;
  return pointer.slice(0, pointer.lastIndexOf('/', MAX_POINTER_LENGTH));
}
