import { KeyObject } from 'node:crypto';
import got from 'got';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors as joseErrors,
  jwksCache,
  type JWKSCacheInput,
  type JWTHeaderParameters,
} from 'jose';
import { z } from 'zod';

const TIMEOUT_MS = 5_000;
/** An unknown key id makes the set be fetched again, at most this often. */
const REFETCH_MS = 5_000;
/** How long the keys that are known are trusted while their issuer cannot be reached. */
const TRUST_MS = 12 * 3_600_000;
/** How long an issuer that could not be reached is not asked again: shorter while nothing can be judged without it. */
const REST_MS = { withoutKeys: 500, withKeys: 15_000 };

/** The issuer answers, and has no such key. */
export class UnknownKey extends Error {
  constructor(cause: unknown) {
    super('the issuer has no such key', { cause });
    this.name = 'UnknownKey';
  }
}

export interface IssuerKeys {
  /** The key that a token's header names. Throws UnknownKey, or whatever kept the keys from being had. */
  keyFor(header: JWTHeaderParameters): Promise<KeyObject>;
  /** Gets the keys before anybody asks for one. Rejects when they cannot be had. */
  fetch(): Promise<void>;
  /** Whether there are keys that may still be trusted. */
  areKnown(): boolean;
}

/**
 * The public keys of one issuer, by the header of a token: fetched when first asked, every 10 minutes, and on an unknown
 * key id. An outage of the issuer is survived with the keys that are known.
 */
export function createIssuerKeys({
  issuer,
  jwksUri,
}: {
  issuer: string;
  jwksUri?: string | undefined;
}): IssuerKeys {
  let remote: Promise<ReturnType<typeof createRemoteJWKSet>> | undefined;
  const cache: JWKSCacheInput = {};
  let known: { uat: number; keyFor: ReturnType<typeof createLocalJWKSet> } | undefined;
  let restsUntil = 0;
  const keyObjects = new WeakMap<object, KeyObject>();

  const open = async () =>
    createRemoteJWKSet(new URL(jwksUri ?? (await discoverJwksUri(issuer))), {
      timeoutDuration: TIMEOUT_MS,
      cooldownDuration: REFETCH_MS,
      [jwksCache]: cache,
    });

  function opened(): ReturnType<typeof open> {
    const opening = (remote ??= open());
    opening.catch(() => {
      if (remote === opening) remote = undefined;
    });
    return opening;
  }

  const areKnown = (): boolean => cache.uat !== undefined && Date.now() <= Number(cache.uat) + TRUST_MS;

  /** Only a key that is known: that another is not among them says nothing while the issuer is silent. */
  async function recall(header: JWTHeaderParameters, outage: unknown) {
    const { uat, jwks } = cache;
    if (uat === undefined || jwks === undefined || !areKnown()) throw outage;
    if (known?.uat !== uat) known = { uat, keyFor: createLocalJWKSet(jwks) };
    return known.keyFor(header).catch(() => {
      throw outage;
    });
  }

  async function find(header: JWTHeaderParameters) {
    if (performance.now() < restsUntil)
      return recall(header, new Error('the issuer was not reachable a moment ago'));
    try {
      return await (
        await opened()
      )(header);
    } catch (error) {
      if (isAboutTheToken(error)) throw new UnknownKey(error);
      restsUntil = performance.now() + (areKnown() ? REST_MS.withKeys : REST_MS.withoutKeys);
      return recall(header, error);
    }
  }

  return {
    keyFor: async (header) => {
      const key = await find(header);
      const keyObject = keyObjects.get(key) ?? KeyObject.from(key);
      keyObjects.set(key, keyObject);
      return keyObject;
    },
    fetch: async () => (await opened()).reload(),
    areKnown,
  };
}

const isAboutTheToken = (error: unknown): boolean =>
  error instanceof joseErrors.JWKSNoMatchingKey ||
  error instanceof joseErrors.JWKSMultipleMatchingKeys ||
  error instanceof joseErrors.JOSENotSupported;

/** OpenID Connect Discovery 1.0, sections 4.1 and 4.3. */
async function discoverJwksUri(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = await got(url, { timeout: { request: TIMEOUT_MS }, retry: { limit: 0 } }).json();
  return z.object({ issuer: z.literal(issuer), jwks_uri: z.url() }).parse(document).jwks_uri;
}
