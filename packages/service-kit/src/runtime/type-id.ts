import { TypeID, typeid } from 'typeid-js';

/** A new TypeID, `prefix_` and a UUIDv7 in base32: sorts by the time it was made. */
export const newId = (prefix: string): string => typeid(prefix).toString();

/** True for a well-formed TypeID with this prefix; anything else names nothing. */
export function isId(prefix: string, text: string): boolean {
  try {
    TypeID.fromString(text, prefix);
    return true;
  } catch {
    return false;
  }
}

/** A TypeID around 128 bits given as two unsigned 64-bit numbers. */
export function idOfNumbers(prefix: string, high: bigint, low: bigint): string {
  const hex = high.toString(16).padStart(16, '0') + low.toString(16).padStart(16, '0');
  const uuid = [8, 12, 16, 20].map((end, i, ends) => hex.slice(i === 0 ? 0 : ends[i - 1], end));
  return TypeID.fromUUID(prefix, [...uuid, hex.slice(20)].join('-')).toString();
}

/** The two numbers of an id that `idOfNumbers` made, or undefined for any other text. */
export function numbersOfId(prefix: string, text: string): [high: bigint, low: bigint] | undefined {
  if (!isId(prefix, text)) return undefined;
  // Not through its UUID text: the numbers need not make one that has a version.
  const bytes = Buffer.from(TypeID.fromString(text, prefix).toUUIDBytes());
  return [bytes.readBigUInt64BE(0), bytes.readBigUInt64BE(8)];
}
