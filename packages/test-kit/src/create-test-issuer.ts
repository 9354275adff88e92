import { generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto';
import { createServer } from 'node:http';
import { listen } from './listen.ts';

export interface TokenOptions {
  /** Default: `test-client`. */
  clientId?: string;
  /** Default: none. */
  scopes?: string[];
  /** Replaces claims; one that is null or undefined is left out. */
  claims?: Record<string, unknown>;
  /** Replaces header fields, likewise. The signature stays that of the issuer's key, whatever `alg` says. */
  header?: Record<string, unknown>;
}

export interface TestIssuer {
  issuer: string;
  jwksUri: string;
  /** The audience of its tokens. */
  audience: string;
  /** An access token as in RFC 9068, good for 10 minutes. */
  token(options?: TokenOptions): string;
  /** From now on tokens are signed with a new key, and only that is published. */
  rotateKey(): void;
  close(): Promise<void>;
}

const lifetimeSeconds = 600;

/** An identity provider: real keys, real tokens, its key set and its metadata served over HTTP. */
export async function createTestIssuer(): Promise<TestIssuer> {
  let key = createKey();
  const server = createServer((request, response) => {
    const documents: Record<string, unknown> = {
      '/jwks': { keys: [key.jwk] },
      '/.well-known/openid-configuration': { issuer, jwks_uri: jwksUri },
      '/.well-known/oauth-authorization-server': { issuer, jwks_uri: jwksUri },
    };
    const found = documents[request.url ?? ''];
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ?? {}));
  });
  const { url: issuer, close } = await listen(server);
  const jwksUri = `${issuer}/jwks`;
  const audience = 'https://assistance.test';

  return {
    issuer,
    jwksUri,
    audience,
    token({ clientId = 'test-client', scopes = [], claims, header } = {}) {
      const now = Math.floor(Date.now() / 1000);
      const head = { alg: 'ES256', typ: 'at+jwt', kid: key.jwk.kid, ...header };
      const body = {
        iss: issuer,
        aud: audience,
        sub: clientId,
        client_id: clientId,
        iat: now,
        exp: now + lifetimeSeconds,
        jti: randomUUID(),
        scope: scopes.join(' '),
        ...claims,
      };
      return compactToken(head, body, key.privateKey);
    },
    rotateKey: () => {
      key = createKey();
    },
    close,
  };
}

function createKey() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    privateKey,
    jwk: { ...publicKey.export({ format: 'jwk' }), kid: randomUUID(), alg: 'ES256', use: 'sig' },
  };
}

/** Put together by hand, because libraries refuse to sign the odd tokens that tests need. */
function compactToken(header: object, claims: object, privateKey: KeyObject): string {
  const signed = `${encode(header)}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${signed}.${signature.toString('base64url')}`;
}

function encode(fields: object): string {
  const present = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return Buffer.from(JSON.stringify(Object.fromEntries(present))).toString('base64url');
}
