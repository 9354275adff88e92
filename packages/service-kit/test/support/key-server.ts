import { createHmac, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface TestKey {
  kid: string;
  alg: 'RS256' | 'PS256' | 'ES256';
  privateKey: KeyObject;
  publicKey: KeyObject;
}

export function createTestKey(alg: TestKey['alg'] = 'ES256'): TestKey {
  const { publicKey, privateKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { kid: randomUUID(), alg, privateKey, publicKey };
}

export interface KeyServer {
  issuer: string;
  /** What it publishes. */
  keys: TestKey[];
  /** How it answers from now on: as it should, with 500, with nonsense, or never. */
  mood: 'well' | 'broken' | 'nonsense' | 'silent';
  /** How often its keys were asked for. */
  asked: number;
  close(): Promise<void>;
}

/** An issuer's metadata and key set over HTTP, in whatever state a test wants it. */
export async function startKeyServer(...keys: TestKey[]): Promise<KeyServer> {
  const server = createServer((request, response) => {
    if (request.url === '/jwks') self.asked += 1;
    if (self.mood === 'silent') return;
    if (self.mood === 'broken') return void response.writeHead(500).end();
    if (self.mood === 'nonsense') return void response.end('<html>');
    const published = self.keys.map(({ kid, alg, publicKey }) => ({
      ...publicKey.export({ format: 'jwk' }),
      kid,
      alg,
      use: 'sig',
    }));
    const document =
      request.url === '/jwks'
        ? { keys: published }
        : { issuer: self.issuer, jwks_uri: `${self.issuer}/jwks` };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const self: KeyServer = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys,
    mood: 'well',
    asked: 0,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return self;
}

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

/** A compact token put together by hand: libraries refuse to make the odd ones. */
export function compactToken(
  header: unknown,
  claims: unknown,
  signature: (signed: string) => Buffer,
): string {
  const signed = `${encode(header)}.${encode(claims)}`;
  return `${signed}.${signature(signed).toString('base64url')}`;
}

export const signWith =
  ({ alg, privateKey }: TestKey) =>
  (signed: string): Buffer =>
    sign('sha256', Buffer.from(signed), {
      key: privateKey,
      dsaEncoding: 'ieee-p1363',
      ...(alg === 'PS256' ? { padding: 6, saltLength: 32 } : {}),
    });

export const hmacWith =
  (secret: string | Buffer) =>
  (signed: string): Buffer =>
    createHmac('sha256', secret).update(signed).digest();
