import { randomUUID, sign } from 'node:crypto';
import { TOKEN_LIFETIME_SECONDS } from '../identity/create-identity-provider.ts';
import type { SigningKey } from '../identity/load-signing-key.ts';

export interface TokenWish {
  clientId: string;
  scopes: readonly string[];
  /** Replace claims of the token; null removes one. */
  claims: Readonly<Record<string, unknown>>;
  /** Replace fields of the header; null removes one. */
  header: Readonly<Record<string, unknown>>;
}

/**
 * A token signed with the issuer's key, as odd as it was wished: expired, for another audience, without `typ`, with
 * `alg: none`. The compact form is built by hand, because libraries refuse to sign such tokens. Whatever `alg` says,
 * the signature is RS256 by the issuer's key.
 */
export function makeToken(
  { clientId, scopes, claims, header }: TokenWish,
  issuer: { issuer: string; audience: string; signingKey: SigningKey },
  nowSeconds: number,
): string {
  const { kid, alg } = issuer.signingKey.jwk;
  const signed = [
    encode({ alg, typ: 'at+jwt', kid }, header),
    encode(
      {
        iss: issuer.issuer,
        sub: clientId,
        client_id: clientId,
        aud: issuer.audience,
        iat: nowSeconds,
        exp: nowSeconds + TOKEN_LIFETIME_SECONDS,
        jti: randomUUID(),
        ...(scopes.length > 0 ? { scope: scopes.join(' ') } : {}),
      },
      claims,
    ),
  ].join('.');
  return `${signed}.${sign('sha256', Buffer.from(signed), issuer.signingKey.privateKey).toString('base64url')}`;
}

function encode(fields: Record<string, unknown>, replaced: Readonly<Record<string, unknown>>): string {
  const kept = Object.entries({ ...fields, ...replaced }).filter(([, value]) => value !== null);
  return Buffer.from(JSON.stringify(Object.fromEntries(kept))).toString('base64url');
}
