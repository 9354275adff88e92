import { timingSafeEqual } from 'node:crypto';
import { serviceDigest, signingKeys, standardDigest } from './signing-keys.ts';

export interface Verification {
  /** The request's headers: those of Node's `http`, of an Express request, or a Fetch `Headers`. */
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The exact bytes received, before any parsing. */
  readonly body: Uint8Array;
  /** The secrets that the receiver knows; during a rotation more than one. */
  readonly secrets: readonly string[];
  /** `service` (the default) checks `x-service-signature`, `standard` checks `webhook-signature`. */
  readonly scheme?: 'service' | 'standard';
  /** How old, or how far ahead, the timestamp may be. Default 300. */
  readonly toleranceSeconds?: number;
  /** Unix seconds now. Default: the clock's. */
  readonly nowSeconds?: number;
}

export type Refusal = 'missing_header' | 'malformed_header' | 'timestamp_out_of_tolerance' | 'no_match';

export type VerificationResult = { readonly ok: true } | { readonly ok: false; readonly reason: Refusal };

/**
 * Whether a delivery was signed with one of the secrets and is fresh. What a stranger sends never makes
 * it throw, and the time it takes says nothing about how much of a signature was right.
 *
 * @throws InvalidSecretError when one of the receiver's own secrets is malformed
 */
export function verify(verification: Verification): VerificationResult {
  const { headers, body, secrets, scheme = 'service', toleranceSeconds = 300 } = verification;
  const { nowSeconds = Math.floor(Date.now() / 1000) } = verification;
  const keysOfSecrets = secrets.map(signingKeys);

  const claim = scheme === 'service' ? serviceClaim(headers) : standardClaim(headers);
  if (typeof claim === 'string') return { ok: false, reason: claim };
  const { id, seconds, signatures } = claim;
  if (Math.abs(nowSeconds - Number(seconds)) > toleranceSeconds) {
    return { ok: false, reason: 'timestamp_out_of_tolerance' };
  }

  let matches = 0;
  for (const keys of keysOfSecrets) {
    const expected =
      scheme === 'service' ? serviceDigest(keys, seconds, body) : standardDigest(keys, id, seconds, body);
    for (const signature of signatures) if (equal(signature, expected)) matches += 1;
  }
  return matches > 0 ? { ok: true } : { ok: false, reason: 'no_match' };
}

/** What the headers say of themselves, before any of it is believed. */
interface Claim {
  readonly id: string;
  /** As it was written, since that is what was signed. */
  readonly seconds: string;
  readonly signatures: readonly string[];
}

const unixSeconds = /^\d{1,12}$/;

/** `t=<seconds>,v1=<hex>,…`; elements of other names are left to later schemes. */
function serviceClaim(headers: Verification['headers']): Claim | Refusal {
  const header = valueOf(headers, 'x-service-signature');
  if (header === undefined) return 'missing_header';
  const elements = header.split(',').map((element) => splitOnce(element.trim(), '='));
  if (elements.includes(undefined)) return 'malformed_header';
  const [seconds, ...furtherSeconds] = valuesNamed('t', elements);
  if (seconds === undefined || furtherSeconds.length > 0) return 'malformed_header';
  if (!unixSeconds.test(seconds)) return 'malformed_header';
  return { id: '', seconds, signatures: valuesNamed('v1', elements) };
}

/** `v1,<base64> v1,<base64> …`, with the id and the timestamp in headers of their own. */
function standardClaim(headers: Verification['headers']): Claim | Refusal {
  const id = valueOf(headers, 'webhook-id');
  const seconds = valueOf(headers, 'webhook-timestamp');
  const header = valueOf(headers, 'webhook-signature');
  if (id === undefined || seconds === undefined || header === undefined) return 'missing_header';
  const elements = header.split(' ').map((element) => splitOnce(element, ','));
  if (elements.includes(undefined) || !unixSeconds.test(seconds)) return 'malformed_header';
  return { id, seconds, signatures: valuesNamed('v1', elements) };
}

type Element = readonly [name: string, value: string] | undefined;

function splitOnce(text: string, separator: string): Element {
  const at = text.indexOf(separator);
  return at < 1 ? undefined : [text.slice(0, at), text.slice(at + 1)];
}

function valuesNamed(name: string, elements: readonly Element[]): string[] {
  return elements.flatMap((element) => (element?.[0] === name ? [element[1]] : []));
}

/** The header's value, undefined when absent or empty; a header sent twice reads as one, joined by a comma. */
function valueOf(headers: Verification['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) || undefined;
  const key = name in headers ? name : Object.keys(headers).find((key) => key.toLowerCase() === name);
  const value = key === undefined ? undefined : headers[key];
  return (typeof value === 'object' ? value.join(',') : value) || undefined;
}

function equal(signature: string, expected: string): boolean {
  const given = Buffer.from(signature);
  const wanted = Buffer.from(expected);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
