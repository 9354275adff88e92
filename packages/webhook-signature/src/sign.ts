import { serviceDigest, signingKeys, standardDigest } from './signing-keys.ts';

export interface Message {
  /** Identifies the message; the same at each attempt, so that a receiver can drop repeats. */
  readonly id: string;
  /** The exact bytes that are sent. */
  readonly body: Uint8Array;
  /** Unix seconds of this attempt. */
  readonly timestampSeconds: number;
}

/** The four headers of a signed delivery, in lower case. */
export type SignatureHeaders = {
  readonly 'x-service-signature': string;
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
};

export type Signer = (message: Message) => SignatureHeaders;

/** Signs one message with each of the secrets. */
export function sign(message: Message & { readonly secrets: readonly string[] }): SignatureHeaders {
  return createSigner(message.secrets)(message);
}

/**
 * Prepares the keys of a subscription once; the function it returns signs any number of messages.
 *
 * - `x-service-signature`: `t=<seconds>`, then for each secret `,v1=<hex>`, the HMAC-SHA256 of
 *   `<seconds>.<body>` under the secret as it is written (the form that Stripe's libraries verify).
 * - `webhook-signature`: for each secret `v1,<base64>`, separated by spaces, the HMAC-SHA256 of
 *   `<id>.<seconds>.<body>` under the decoded secret (Standard Webhooks 1.0).
 *
 * While a secret is being rotated each of them signs, so a receiver that knows any accepts the message.
 *
 * @param secrets one or more live secrets, the newest first
 * @throws InvalidSecretError when a secret is malformed; RangeError when there is none
 */
export function createSigner(secrets: readonly string[]): Signer {
  if (secrets.length === 0) throw new RangeError('At least one secret is needed to sign.');
  const keysOfSecrets = secrets.map(signingKeys);

  return function signMessage({ id, body, timestampSeconds }) {
    let serviceSignature = `t=${timestampSeconds}`;
    let standardSignature = '';
    for (const keys of keysOfSecrets) {
      if (standardSignature !== '') standardSignature += ' ';
      serviceSignature += `,v1=${serviceDigest(keys, timestampSeconds, body)}`;
      standardSignature += `v1,${standardDigest(keys, id, timestampSeconds, body)}`;
    }
    return {
      'x-service-signature': serviceSignature,
      'webhook-id': id,
      'webhook-timestamp': `${timestampSeconds}`,
      'webhook-signature': standardSignature,
    };
  };
}
