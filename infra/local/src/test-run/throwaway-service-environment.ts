import type { TestIssuer } from '@assistance/test-kit';
import { freePort } from '../machine/free-port.ts';
import type { Service } from '../platform/services.ts';
import type { ThrowawayStack } from './throwaway-stack.ts';

const key = Buffer.alloc(32, 7).toString('base64');

/** Of services on a throwaway stack; of no use elsewhere. */
export const throwawayKeyRing = { current: 'k1', keys: { k1: key } };

/** What a deployment gives a service. */
export async function throwawayServiceEnvironment(
  service: Service,
  url: string,
  stack: ThrowawayStack,
  { issuer, jwksUri, audience }: TestIssuer,
): Promise<NodeJS.ProcessEnv> {
  return {
    PATH: process.env['PATH'],
    HTTP_PORT: String(await freePort()),
    OPS_PORT: String(await freePort()),
    DATABASE_URL: url,
    KAFKA_BROKERS: stack.brokers.join(','),
    TOKEN_AUDIENCE: audience,
    TOKEN_ISSUERS: JSON.stringify([{ issuer, jwksUri }]),
    KEY_RING: JSON.stringify(throwawayKeyRing),
    CURSOR_KEY: key,
    ...(service === 'applications'
      ? { IDEMPOTENCY_KEY: JSON.stringify({ id: 'i1', key }), PROGRAM_SETS: 'agency' }
      : {}),
  };
}
