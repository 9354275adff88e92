import { createCipheriv, createDecipheriv, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { z } from 'zod';

const IV_BYTES = 12;
const TAG_BYTES = 16;

const key32 = z.base64().refine((text) => Buffer.from(text, 'base64').length === 32, {
  error: 'must be base64 of 32 bytes',
});

const keyId = z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, { error: 'must be 1 to 32 letters, digits, _ or -' });

/** `{"current":"k1","keys":{"k1":"<base64 of 32 bytes>"}}`: `current` seals, every key of the ring opens. */
export const keyRingConfig = z
  .object({ current: keyId, keys: z.record(keyId, key32) })
  .refine((ring) => Object.hasOwn(ring.keys, ring.current), { error: 'current must name one of keys' });
export type KeyRingConfig = z.infer<typeof keyRingConfig>;

export interface KeyRing {
  /** AES-256-GCM under the current key, bound to `context`: `<key id>.<base64url of iv, tag, ciphertext>`. */
  seal(plaintext: Uint8Array, context: string): string;
  /** Throws when the key is not in the ring, the context differs, or a bit was changed. */
  open(sealed: string, context: string): Buffer;
  /** The id of the key that sealed this, so that a rotation can find what is still under an old one. */
  keyIdOf(sealed: string): string;
  /** The id of the key that seals now. */
  readonly currentKeyId: string;
}

export function createKeyRing(config: KeyRingConfig): KeyRing {
  const keys = new Map(
    Object.entries(config.keys).map(([id, text]) => [id, createSecretKey(text, 'base64')]),
  );
  const keyIdOf = (sealed: string): string => sealed.slice(0, sealed.indexOf('.'));
  return {
    keyIdOf,
    currentKeyId: config.current,
    seal(plaintext, context) {
      return `${config.current}.${sealWith(keys.get(config.current)!, plaintext, context).toString('base64url')}`;
    },
    open(sealed, context) {
      const key = keys.get(keyIdOf(sealed));
      if (key === undefined) throw new Error('sealed under a key that is not in the ring');
      return openWith(key, Buffer.from(sealed.slice(sealed.indexOf('.') + 1), 'base64url'), context);
    },
  };
}

/** AES-256-GCM with a fresh random nonce: iv, tag, ciphertext in one buffer. */
export function sealWith(key: Uint8Array | KeyObject, plaintext: Uint8Array, context: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(context));
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([iv, cipher.getAuthTag(), ciphertext]);
}

/** Throws when the key or the context differs or a bit was changed. */
export function openWith(key: Uint8Array | KeyObject, sealed: Uint8Array, context: string): Buffer {
  if (sealed.length < IV_BYTES + TAG_BYTES) throw new Error('sealed text is too short');
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
}
