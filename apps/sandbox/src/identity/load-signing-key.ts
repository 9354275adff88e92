import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { calculateJwkThumbprint } from 'jose';
import { z } from 'zod';
import { readJsonFile } from '../state/read-json-file.ts';
import { replaceFile } from '../state/replace-file.ts';

export interface SigningKey {
  privateKey: KeyObject;
  /** The private JWK, with `kid`, `alg` and `use`. */
  jwk: PrivateJwk;
}

const privateJwk = z.looseObject({
  kty: z.literal('RSA'),
  kid: z.string(),
  alg: z.literal('RS256'),
  d: z.string(),
});
type PrivateJwk = z.infer<typeof privateJwk>;

/**
 * The issuer's key, made at the first start and kept, so that tokens outlive a restart. RS256: what the common
 * identity providers use, and the cheapest for a service to verify.
 */
export async function loadSigningKey(stateDir: string): Promise<SigningKey> {
  const path = join(stateDir, 'signing-key.json');
  const jwk = readJsonFile(path, privateJwk) ?? (await makeKey(path));
  return { privateKey: createPrivateKey({ key: jwk, format: 'jwk' }), jwk };
}

async function makeKey(path: string): Promise<PrivateJwk> {
  const made = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' });
  const kid = await calculateJwkThumbprint({ kty: 'RSA', n: made.n ?? '', e: made.e ?? '' });
  const jwk = privateJwk.parse({ ...made, kid, alg: 'RS256', use: 'sig' });
  replaceFile(path, JSON.stringify(jwk));
  return jwk;
}
