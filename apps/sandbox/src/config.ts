import { z } from 'zod';
import { jsonVariable, serviceConfig } from '@assistance/service-kit';

const address = z.url({ protocol: /^https?$/ });

/** What the sandbox reads from its environment. */
export const sandboxConfig = serviceConfig
  .pick({
    HTTP_PORT: true,
    OPS_PORT: true,
    KAFKA_BROKERS: true,
    KAFKA_TOPIC_PREFIX: true,
    TOKEN_AUDIENCE: true,
    LOG_LEVEL: true,
  })
  .extend({
    /** How callers reach the gateway; the issuer is `{PUBLIC_URL}/auth`. */
    PUBLIC_URL: address.transform((url) => url.replace(/\/+$/, '')),
    /** A folder for keys, cases and inboxes. */
    STATE_DIR: z.string().min(1),
    /** The services' base paths, each with the addresses of its instances. */
    UPSTREAMS: jsonVariable(
      z.record(
        z.string().regex(/^(\/[a-z0-9-]+)+$/, { error: 'must be base paths like /applications/v1' }),
        z.array(address).min(1),
      ),
    ),
    /** `agency`: the issuer, the gateway and the `tokens` control, and nothing synthetic. */
    DEPLOYMENT: z.enum(['sandbox', 'agency']),
    /** Where the local platform lets its processes be held. */
    SUPERVISOR_URL: address.optional(),
  });

export type SandboxConfig = z.output<typeof sandboxConfig>;
