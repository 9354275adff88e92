import type { KeyObject } from 'node:crypto';
import type { JWTHeaderParameters } from 'jose';
import jwt, { type JwtPayload } from 'jsonwebtoken';
import { z } from 'zod';
import { ApiError, unavailable } from '../http/api-error.ts';
import { createIssuerKeys, UnknownKey } from './issuer-keys.ts';
import { createVerifiedTokens } from './verified-tokens.ts';

const ALGORITHMS = ['RS256', 'PS256', 'ES256'] as const;
const CLOCK_TOLERANCE_SECONDS = 30;

/** One issuer that a service trusts; strict by default, so that an agency's own identity provider fits by configuration. */
export const tokenIssuer = z.strictObject({
  issuer: z.url(),
  /** Found through the issuer's discovery document when absent. */
  jwksUri: z.url().optional(),
  acceptedTyp: z.array(z.string().toLowerCase()).default(['at+jwt', 'application/at+jwt']),
  clientIdClaim: z.string().optional(),
  scopeClaim: z.string().optional(),
  /** Evidence that a delegated token (its `sub` is not the client) must carry: one of these `amr`, one of these `acr`. */
  requireAmr: z.array(z.string()).optional(),
  requireAcr: z.array(z.string()).optional(),
});
export type TokenIssuer = z.infer<typeof tokenIssuer>;

/** Who calls, as its verified token says. */
export interface Caller {
  issuer: string;
  clientId: string;
  subject: string;
  scopes: ReadonlySet<string>;
  /** `<issuer>#<clientId>`: what owns an application, a subscription, a key, a cursor, a rate. */
  owner: string;
}

export interface TokenVerifier {
  /** Throws 401 `token_invalid`, or 503 when the issuer's keys cannot be had. */
  verify(token: string): Promise<Caller>;
  /** Gets the keys of every issuer before anybody shows a token. Rejects when none of them can be reached. */
  fetchKeys(): Promise<void>;
  /** Whether the tokens of at least one issuer can be judged. */
  knowsKeys(): boolean;
}

/**
 * Verifies bearer tokens (RFC 9068, RFC 8725): an allow-list of issuers with a key set each, three algorithms, exact
 * `iss`, this audience, `typ`, `exp` and `iat` present, `crit` refused. Keys named inside a token are never followed. What
 * was accepted is remembered for a minute; what is refused is judged anew each time.
 */
export function createTokenVerifier(options: { issuers: TokenIssuer[]; audience: string }): TokenVerifier {
  const issuers = new Map(
    options.issuers.map((config) => [config.issuer, { config, keys: createIssuerKeys(config) }]),
  );
  const verified = createVerifiedTokens<Caller>();
  return {
    async verify(token) {
      const known = await verified.callerOf(token);
      if (known !== undefined) return known;
      const decoded = decode(token);
      const issuer = issuers.get(decoded.payload.iss ?? '');
      if (issuer === undefined) throw invalidToken('its issuer is not trusted here');
      const { config, keys } = issuer;
      checkHeader(decoded.header, config);
      const header = decoded.header as JWTHeaderParameters;
      const key = await keys.keyFor(header).catch(refuseWithoutKey);
      const payload = verifySignature(token, key, { issuer: config.issuer, audience: options.audience });
      const caller = callerOf(payload, config);
      verified.remember(token, { caller, header, key, keys, expiresAtMs: Number(payload.exp) * 1000 });
      return caller;
    },
    fetchKeys: () => Promise.any([...issuers.values()].map(({ keys }) => keys.fetch())),
    knowsKeys: () => [...issuers.values()].some(({ keys }) => keys.areKnown()),
  };
}

function decode(token: string): { header: jwt.JwtHeader; payload: JwtPayload } {
  let decoded: jwt.Jwt | null;
  try {
    decoded = jwt.decode(token, { complete: true });
  } catch {
    decoded = null;
  }
  if (decoded === null || typeof decoded.payload !== 'object' || decoded.payload === null) {
    throw invalidToken('it is not a JSON web token');
  }
  return { header: decoded.header, payload: decoded.payload };
}

function checkHeader(header: jwt.JwtHeader, config: TokenIssuer): void {
  if (!ALGORITHMS.includes(header.alg as never)) throw invalidToken('its algorithm is not accepted');
  if ('crit' in header) throw invalidToken('it has critical header parameters');
  const typ = typeof header.typ === 'string' ? header.typ.toLowerCase() : '';
  if (!config.acceptedTyp.includes(typ)) throw invalidToken('its typ is not accepted');
}

function refuseWithoutKey(error: unknown): never {
  if (error instanceof UnknownKey) {
    throw invalidToken('it is signed with a key that its issuer does not have', error);
  }
  throw unavailable(error);
}

function verifySignature(
  token: string,
  key: KeyObject,
  expected: { issuer: string; audience: string },
): JwtPayload {
  try {
    return jwt.verify(token, key, {
      algorithms: [...ALGORITHMS],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      ...expected,
    }) as JwtPayload;
  } catch (error) {
    const expired = error instanceof jwt.TokenExpiredError;
    throw invalidToken(
      expired ? 'it has expired' : 'its signature or one of its claims is not accepted',
      error,
    );
  }
}

function callerOf(payload: JwtPayload, config: TokenIssuer): Caller {
  const now = Date.now() / 1000;
  if (typeof payload.exp !== 'number') throw invalidToken('it has no exp');
  if (typeof payload.iat !== 'number' || payload.iat > now + CLOCK_TOLERANCE_SECONDS) {
    throw invalidToken('its iat is missing or in the future');
  }
  const clientId: unknown =
    config.clientIdClaim === undefined
      ? (payload['client_id'] ?? payload['azp'])
      : payload[config.clientIdClaim];
  if (typeof clientId !== 'string' || clientId === '') throw invalidToken('it does not name its client');
  const subject = typeof payload.sub === 'string' && payload.sub !== '' ? payload.sub : clientId;
  if (subject !== clientId) requireEvidence(payload, config);
  return {
    issuer: config.issuer,
    clientId,
    subject,
    scopes: scopesOf(payload, config),
    owner: `${config.issuer}#${clientId}`,
  };
}

function requireEvidence(payload: JwtPayload, { requireAmr, requireAcr }: TokenIssuer): void {
  const amr: unknown = payload['amr'];
  const acr: unknown = payload['acr'];
  const amrFits =
    requireAmr === undefined || (Array.isArray(amr) && requireAmr.some((method) => amr.includes(method)));
  const acrFits = requireAcr === undefined || (typeof acr === 'string' && requireAcr.includes(acr));
  if (amrFits && acrFits) return;
  throw new ApiError('token_invalid', 'The access token does not show how its user was authenticated.', {
    headers: { 'WWW-Authenticate': challenge('insufficient_user_authentication') },
  });
}

function scopesOf(payload: JwtPayload, config: TokenIssuer): ReadonlySet<string> {
  const claims = config.scopeClaim === undefined ? ['scope', 'scp'] : [config.scopeClaim];
  return new Set(
    claims.flatMap((claim) => {
      const value: unknown = payload[claim];
      if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '');
      return Array.isArray(value) ? value.filter((scope) => typeof scope === 'string') : [];
    }),
  );
}

const invalidToken = (why: string, cause?: unknown): ApiError =>
  new ApiError('token_invalid', `The access token is not valid: ${why}. Get a new one and try again.`, {
    headers: { 'WWW-Authenticate': challenge('invalid_token') },
    cause,
  });

/** RFC 6750, section 3. */
export const challenge = (error?: string, scope?: string): string =>
  [
    'Bearer realm="assistance"',
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(scope === undefined ? [] : [`scope="${scope}"`]),
  ].join(', ');
