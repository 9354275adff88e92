import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { decodeSecret } from './signing-secret.ts';

export interface SigningKeys {
  /** The characters of the secret, the key of `x-service-signature`. */
  readonly written: KeyObject;
  /** The bytes that the secret encodes, the key of `webhook-signature`. */
  readonly decoded: KeyObject;
}

/** @throws InvalidSecretError when the secret is malformed */
export function signingKeys(secret: string): SigningKeys {
  return { decoded: createSecretKey(decodeSecret(secret)), written: createSecretKey(secret, 'utf8') };
}

/** Hex HMAC-SHA256 of `<seconds>.<body>`; the body is hashed in place, never copied into a string. */
export function serviceDigest(keys: SigningKeys, seconds: number | string, body: Uint8Array): string {
  return createHmac('sha256', keys.written).update(`${seconds}.`).update(body).digest('hex');
}

/** Base64 HMAC-SHA256 of `<id>.<seconds>.<body>`; the body is hashed in place. */
export function standardDigest(
  keys: SigningKeys,
  id: string,
  seconds: number | string,
  body: Uint8Array,
): string {
  return createHmac('sha256', keys.decoded).update(`${id}.${seconds}.`).update(body).digest('base64');
}
