import { Resolver } from 'node:dns';
import { z } from 'zod';
import { listVariable, numberVariable, serviceConfig } from '@assistance/service-kit';
import { parseNetwork, type Network } from '@assistance/public-address';

const networks = listVariable.transform((texts, context) =>
  texts.map((text): Network => {
    const network = parseNetwork(text);
    if (network !== undefined) return network;
    context.addIssue({ code: 'custom', message: 'must be a list of networks like 10.20.0.0/16' });
    return z.NEVER;
  }),
);

const nameServers = listVariable.refine(
  (servers) => {
    try {
      new Resolver().setServers(servers);
      return true;
    } catch {
      return false;
    }
  },
  { error: 'must be a list of addresses like 10.0.0.53 or [fd00::53]:5353' },
);

const proxyUrl = z
  .url({ protocol: /^https?$/, error: 'must be a URL like http://proxy.example:3128' })
  .transform((url) => new URL(url));

/** Everything that the dispatcher reads from its environment; the delivery settings are those of interface-details 4. */
export const config = serviceConfig.extend({
  CALLBACK_RULES: z.enum(['public', 'sandbox']).default('public'),
  CALLBACK_ALLOWED_NETWORKS: networks,
  /** Who is asked for the addresses of subscribers. Default: the system's name servers. */
  DNS_SERVERS: nameServers,
  /** Where connections to public addresses go through; credentials may stand in it. Default: none. */
  OUTGOING_PROXY: proxyUrl.optional(),
  RETRY_BASE_MS: numberVariable(10_000, { min: 1 }),
  RETRY_FACTOR: z.coerce.number().min(1).max(10).default(3),
  RETRY_MAX_MS: numberVariable(43_200_000, { min: 1 }),
  RETRY_MAX_ATTEMPTS: numberVariable(14, { min: 1, max: 1_000 }),
  DELIVERY_TIMEOUT_MS: numberVariable(15_000, { min: 10, max: 120_000 }),
  LANE_CONCURRENCY: numberVariable(8, { min: 1, max: 256 }),
  /** Of one instance, for machines with few sockets; what hangs counts, so a low one lets one subscriber hold up others. */
  MAX_IN_FLIGHT: numberVariable(100_000, { min: 1 }),
  FAILING_AFTER_ATTEMPTS: numberVariable(5, { min: 1 }),
  FAILING_AFTER_MS: numberVariable(300_000),
  FAILING_RETRY_MAX_MS: numberVariable(600_000, { min: 1 }),
  PAUSE_AFTER_MS: numberVariable(432_000_000, { min: 1 }),
  RETENTION_DAYS: numberVariable(7, { min: 1, max: 400 }),
});
export type Config = z.output<typeof config>;

/** How deliveries are tried again and judged. */
export interface DeliverySettings {
  retryBaseMs: number;
  retryFactor: number;
  retryMaxMs: number;
  retryMaxAttempts: number;
  laneConcurrency: number;
  maxInFlight: number;
  failingAfterAttempts: number;
  failingAfterMs: number;
  failingRetryMaxMs: number;
  pauseAfterMs: number;
}

export const deliverySettings = (c: Config): DeliverySettings => ({
  retryBaseMs: c.RETRY_BASE_MS,
  retryFactor: c.RETRY_FACTOR,
  retryMaxMs: c.RETRY_MAX_MS,
  retryMaxAttempts: c.RETRY_MAX_ATTEMPTS,
  laneConcurrency: c.LANE_CONCURRENCY,
  maxInFlight: c.MAX_IN_FLIGHT,
  failingAfterAttempts: c.FAILING_AFTER_ATTEMPTS,
  failingAfterMs: c.FAILING_AFTER_MS,
  failingRetryMaxMs: c.FAILING_RETRY_MAX_MS,
  pauseAfterMs: c.PAUSE_AFTER_MS,
});
