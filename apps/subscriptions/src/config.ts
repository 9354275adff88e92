import { z } from 'zod';
import { parseNetwork, type Network } from '@assistance/public-address';
import { listVariable, numberVariable, serviceConfig } from '@assistance/service-kit';

const DAY_MS = 86_400_000;

const networkList = listVariable.transform((texts, context): Network[] =>
  texts.flatMap((text) => {
    const network = parseNetwork(text);
    if (network !== undefined) return [network];
    context.addIssue({
      code: 'custom',
      message: 'must be a list of networks like 10.20.0.0/16,fd00:20::/32',
    });
    return [];
  }),
);

/** The environment of this service. */
export const config = serviceConfig.extend({
  /** `sandbox` allows http and loopback beside what `public` allows. */
  CALLBACK_RULES: z.enum(['public', 'sandbox']).default('public'),
  /** An agency's own networks, open whatever the rules say. */
  CALLBACK_ALLOWED_NETWORKS: networkList,
  MAX_SUBSCRIPTIONS_PER_CLIENT: numberVariable(200, { min: 1, max: 1_000_000 }),
  /** How long a secret signs after a newer one was made. */
  SECRET_OVERLAP_MS: numberVariable(DAY_MS),
});
export type Config = z.output<typeof config>;
