/** Milliseconds since 1970 with a fraction; processes of one machine can compare theirs. */
export const moment = (): number => performance.timeOrigin + performance.now();
