import type { Logger } from '../runtime/logger.ts';
import { PollLoop } from '../runtime/poll-loop.ts';
import type { Dependency } from '../runtime/readiness.ts';
import type { Part } from '../runtime/run-service.ts';
import type { TokenVerifier } from './token-verifier.ts';

/**
 * Gets the issuers' keys at the start, and goes on trying until they are had: a service that can judge no token is not
 * ready. An outage that comes later is survived with the keys that are known.
 */
export function createIssuerCheck(options: { verifier: TokenVerifier; log: Logger }): Part & Dependency {
  const { verifier, log } = options;
  const loop = new PollLoop({
    name: 'issuer-check',
    intervalMs: 1_000,
    log,
    turn: async () => {
      if (!verifier.knowsKeys()) await verifier.fetchKeys();
      return false;
    },
  });
  return {
    name: 'token-issuer',
    isReady: () => verifier.knowsKeys(),
    start: () => loop.start(),
    stop: () => loop.stop(),
  };
}
