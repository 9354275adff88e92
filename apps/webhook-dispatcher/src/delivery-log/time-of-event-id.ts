import { numbersOfId } from '@assistance/service-kit';

/** When an event of this platform was made: its id is a UUIDv7, whose first 48 bits are milliseconds. */
export function timeOfEventId(eventId: string): Date | undefined {
  const [high] = numbersOfId('evt', eventId) ?? [];
  return high === undefined ? undefined : new Date(Number(high >> 16n));
}
