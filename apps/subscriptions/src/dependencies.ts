import type { AddressPolicy } from '@assistance/public-address';
import type { CursorCodec, KeyRing, Logger, Metrics, TokenVerifier } from '@assistance/service-kit';
import type { PrismaClient } from './generated/prisma/client.ts';

/** What the verbs of this service are given beside the request. */
export interface Dependencies {
  prisma: PrismaClient;
  /** Call after a commit that wrote to the outbox. */
  wakeRelay: () => void;
  keyRing: KeyRing;
  cursors: CursorCodec;
  settings: Settings;
  verifier: TokenVerifier;
  metrics: Metrics;
  log: Logger;
}

export interface Settings {
  callbackRules: AddressPolicy;
  maxSubscriptionsPerClient: number;
  secretOverlapMs: number;
  rateLimitPerSecond: number;
}
