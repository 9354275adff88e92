import { hash, type KeyObject } from 'node:crypto';
import type { JWTHeaderParameters } from 'jose';
import { LRUCache } from 'lru-cache';
import type { IssuerKeys } from './issuer-keys.ts';

const MAX_TOKENS = 10_000;
const REMEMBERED_MS = 60_000;

export interface VerifiedToken<Caller> {
  caller: Caller;
  header: JWTHeaderParameters;
  /** The key that its signature was verified with, and where it is from. */
  key: KeyObject;
  keys: IssuerKeys;
  expiresAtMs: number;
}

/**
 * Tokens that were verified within the last minute, by their digest: a client sends one token with hundreds of requests, and
 * a signature costs more than the rest of the way to the verb. Only what was accepted is remembered, never beyond its `exp`,
 * and it counts only while its issuer still answers for it with the very key that verified it.
 */
export function createVerifiedTokens<Caller>() {
  const tokens = new LRUCache<string, VerifiedToken<Caller>>({ max: MAX_TOKENS });
  return {
    async callerOf(token: string): Promise<Caller | undefined> {
      const known = tokens.get(digestOf(token));
      if (known === undefined || Date.now() >= known.expiresAtMs) return undefined;
      const key = await known.keys.keyFor(known.header).catch(() => undefined);
      return key === known.key ? known.caller : undefined;
    },
    remember(token: string, verified: VerifiedToken<Caller>): void {
      tokens.set(digestOf(token), verified, { ttl: REMEMBERED_MS });
    },
  };
}

const digestOf = (token: string): string => hash('sha256', token, 'base64url');
