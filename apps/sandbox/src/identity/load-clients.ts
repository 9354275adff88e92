import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { calculateJwkThumbprint } from 'jose';
import { z } from 'zod';
import { scopes as allScopes, type Scope } from '@assistance/types';
import { readJsonFile } from '../state/read-json-file.ts';
import { replaceFile } from '../state/replace-file.ts';

const privateJwk = z.looseObject({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  d: z.string(),
  kid: z.string(),
  alg: z.literal('ES256'),
});
const scopes = z.array(z.enum(allScopes));
const sandboxClient = z.union([
  z.object({ clientId: z.string(), clientSecret: z.string(), scopes }),
  z.object({ clientId: z.string(), privateJwk, scopes }),
]);

/** A client of the identity provider, with the secret or the private key that it authenticates with. */
export type SandboxClient = z.infer<typeof sandboxClient>;

const scopesOfClients: Record<string, readonly Scope[]> = {
  partner: allScopes,
  'other-partner': allScopes,
  'keyed-partner': allScopes,
  portal: ['applications:read'],
  intake: ['applications:write'],
  subscriber: ['events:manage'],
  nobody: [],
};

/**
 * The sandbox's clients. Their credentials are made at the first start and kept in `clients.json`, from where whoever
 * starts the platform tells them to people.
 */
export async function loadClients(stateDir: string): Promise<SandboxClient[]> {
  const path = join(stateDir, 'clients.json');
  const known = readJsonFile(path, z.array(sandboxClient)) ?? [];
  const missing = Object.keys(scopesOfClients).filter((id) => !known.some(({ clientId }) => clientId === id));
  if (missing.length === 0) return known;
  const clients = [...known, ...(await Promise.all(missing.map(makeClient)))];
  replaceFile(path, `${JSON.stringify(clients, null, 2)}\n`);
  return clients;
}

async function makeClient(clientId: string): Promise<SandboxClient> {
  const granted = [...(scopesOfClients[clientId] ?? [])];
  if (clientId === 'keyed-partner') return { clientId, privateJwk: await makePrivateJwk(), scopes: granted };
  return { clientId, clientSecret: randomBytes(32).toString('base64url'), scopes: granted };
}

async function makePrivateJwk(): Promise<z.infer<typeof privateJwk>> {
  const made = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const { kty = '', crv = '', x = '', y = '' } = made;
  const kid = await calculateJwkThumbprint({ kty, crv, x, y });
  return privateJwk.parse({ ...made, kid, alg: 'ES256' });
}
