import { openWith, sealWith } from '../crypto/key-ring.ts';
import { invalidCursor } from './parse-query.ts';

export interface CursorCodec {
  /** An opaque text that only opens with the same binding: the list, its filters and the owner. */
  encode(position: unknown, binding: readonly unknown[]): string;
  /** Throws 400 `invalid_cursor` for what was tampered with, cut short, or belongs to other filters or another owner. */
  decode(cursor: string, binding: readonly unknown[]): unknown;
}

export function createCursorCodec(key: Uint8Array): CursorCodec {
  return {
    encode: (position, binding) =>
      sealWith(key, Buffer.from(JSON.stringify(position)), JSON.stringify(binding)).toString('base64url'),
    decode(cursor, binding) {
      try {
        const sealed = Buffer.from(cursor, 'base64url');
        // Buffer.from passes over what is not base64url; only the exact text that was given out is a cursor.
        if (sealed.toString('base64url') !== cursor) throw invalidCursor();
        return JSON.parse(openWith(key, sealed, JSON.stringify(binding)).toString()) as unknown;
      } catch {
        throw invalidCursor();
      }
    },
  };
}
