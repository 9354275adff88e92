import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { ApplicationSubmission } from '@assistance/types';

export interface FingerprintKeys {
  id: string;
  key: KeyObject;
  previous: Record<string, KeyObject>;
}

export interface Fingerprint {
  keyId: string;
  digest: Buffer;
}

/**
 * Recognizes a body without keeping it: HMAC-SHA256 of its canonical JSON (RFC 8785). Optional fields that are null count
 * as absent.
 */
export const fingerprintOf = (keys: FingerprintKeys, submission: ApplicationSubmission): Fingerprint => ({
  keyId: keys.id,
  digest: digestOf(keys.key, submission),
});

/** Whether a body is the one that a kept fingerprint was made of, under whichever key that was. */
export function matchesFingerprint(
  keys: FingerprintKeys,
  kept: { keyId: string; digest: Uint8Array },
  submission: ApplicationSubmission,
): boolean {
  const key = kept.keyId === keys.id ? keys.key : keys.previous[kept.keyId];
  if (key === undefined) throw new Error('a fingerprint was made with a key that is not configured');
  return timingSafeEqual(digestOf(key, submission), kept.digest);
}

function digestOf(key: KeyObject, submission: ApplicationSubmission): Buffer {
  const present = Object.entries(submission).filter(([, value]) => value !== null && value !== undefined);
  return createHmac('sha256', key)
    .update(canonicalize(Object.fromEntries(present)) ?? '')
    .digest();
}
