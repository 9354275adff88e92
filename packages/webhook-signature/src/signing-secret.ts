import { randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const form = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A new signing secret: `whsec_` and the base64 of 32 random bytes. */
export function generateSecret(): string {
  return prefix + randomBytes(32).toString('base64');
}

/**
 * The key inside a secret, as Standard Webhooks uses it.
 *
 * @throws InvalidSecretError when it is not `whsec_` and base64 of at least one byte
 */
export function decodeSecret(secret: string): Buffer {
  if (!form.test(secret) || secret.length === prefix.length) throw new InvalidSecretError();
  return Buffer.from(secret.slice(prefix.length), 'base64');
}

/** The secret is malformed. The message never shows it. */
export class InvalidSecretError extends Error {
  readonly code = 'invalid_secret';

  constructor() {
    super('A signing secret is "whsec_" followed by base64, exactly as the subscription was given it.');
    this.name = 'InvalidSecretError';
  }
}
