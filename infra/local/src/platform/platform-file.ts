import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Surroundings } from './process-environment.ts';
import { basePaths } from './services.ts';

const client = z.object({
  clientId: z.string(),
  clientSecret: z.string().optional(),
  /** Instead of a secret, of a client that signs its own assertions. */
  privateJwk: z.record(z.string(), z.unknown()).optional(),
  scopes: z.array(z.string()),
});

export const platformFile = z.object({
  gateway: z.url(),
  applications: z.url(),
  events: z.url(),
  deliveries: z.url(),
  issuer: z.url(),
  token: z.url(),
  sandbox: z.url(),
  audience: z.string(),
  kafka: z.array(z.string()),
  databases: z.record(z.string(), z.string()),
  clients: z.array(client),
  services: z.record(z.string(), z.url()),
  ops: z.record(z.string(), z.url()),
  processes: z.record(z.string(), z.number().int()),
});
/** Where everything is, for people's scripts and for tests. */
export type Platform = z.infer<typeof platformFile>;

export function describePlatform(
  { addresses, brokers, databases }: Surroundings,
  clients: Platform['clients'],
  processes: Record<string, number>,
): Platform {
  const { gateway, issuer, audience, services, ops } = addresses;
  return {
    gateway,
    applications: gateway + basePaths.applications,
    events: gateway + basePaths.subscriptions,
    deliveries: gateway + basePaths['webhook-dispatcher'],
    issuer,
    token: `${issuer}/token`,
    sandbox: `${gateway}/sandbox/v1`,
    audience,
    kafka: brokers,
    databases,
    clients,
    services,
    ops,
    processes,
  };
}

/** The clients that the sandbox made on its first start. */
export function readClients(sandboxDir: string): Platform['clients'] {
  const file = join(sandboxDir, 'clients.json');
  return existsSync(file) ? z.array(client).parse(JSON.parse(readFileSync(file, 'utf8'))) : [];
}
