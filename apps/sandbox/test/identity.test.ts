import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import got from 'got';
import { createRemoteJWKSet, importJWK, jwtVerify, SignJWT } from 'jose';
import { audience, startSandbox, type StartedSandbox } from './start-sandbox.ts';

const allScopes = 'applications:read applications:write events:manage';

let sandbox: StartedSandbox;
let issuer: string;
beforeAll(async () => {
  sandbox = await startSandbox({ DEPLOYMENT: 'agency' });
  issuer = `http://localhost:${sandbox.port}/auth`;
});
afterAll(() => sandbox.discard());

const http = got.extend({ throwHttpErrors: false, retry: { limit: 0 }, responseType: 'json' });

function askToken(form: Record<string, string>, credentials?: { username: string; password: string }) {
  return http.post<Record<string, unknown>>(`${sandbox.url}/auth/token`, {
    form: { grant_type: 'client_credentials', ...form },
    ...credentials,
  });
}

const basic = (clientId: string) => ({ username: clientId, password: sandbox.client(clientId).clientSecret });

describe('a token', () => {
  test('is a JWT as in RFC 9068 that verifies against the published keys', async () => {
    const { statusCode, body } = await askToken({}, basic('partner'));
    expect(statusCode).toBe(200);
    expect(body).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope: allScopes });
    const keys = createRemoteJWKSet(new URL(`${sandbox.url}/auth/jwks`));
    const { payload, protectedHeader } = await jwtVerify(String(body['access_token']), keys, {
      issuer,
      audience,
      typ: 'at+jwt',
    });
    expect(payload).toMatchObject({ client_id: 'partner', sub: 'partner', scope: allScopes });
    expect(payload.jti).toEqual(expect.any(String));
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(600);
    expect(protectedHeader.kid).toEqual(expect.any(String));
  });

  test.each([
    ['partner', allScopes],
    ['other-partner', allScopes],
    ['portal', 'applications:read'],
    ['intake', 'applications:write'],
    ['subscriber', 'events:manage'],
    ['nobody', undefined],
  ])('of %s has, when none is asked, the scopes %s', async (clientId, scope) => {
    const { statusCode, body } = await askToken({}, basic(clientId));
    expect(statusCode).toBe(200);
    expect(body['scope']).toBe(scope);
  });

  test('has only the scopes that were asked', async () => {
    const { body } = await askToken({ scope: 'applications:read' }, basic('partner'));
    expect(body['scope']).toBe('applications:read');
  });

  test.each([
    ['portal', 'applications:write'],
    ['nobody', 'applications:read'],
    ['partner', 'everything'],
  ])('with a scope that %s does not have (%s) is refused', async (clientId, scope) => {
    const { statusCode, body } = await askToken({ scope }, basic(clientId));
    expect(statusCode).toBe(400);
    expect(body).toMatchObject({ error: 'invalid_scope' });
  });

  test('may be asked for this audience as its resource, and for no other', async () => {
    expect((await askToken({ resource: audience }, basic('partner'))).statusCode).toBe(200);
    const other = await askToken({ resource: 'https://elsewhere.example' }, basic('partner'));
    expect(other.body).toMatchObject({ error: 'invalid_target' });
  });
});

describe('a client', () => {
  test('may send its secret in the body', async () => {
    const { statusCode } = await askToken({
      client_id: 'partner',
      client_secret: sandbox.client('partner').clientSecret,
    });
    expect(statusCode).toBe(200);
  });

  test('with a key authenticates with a signed assertion, once', async () => {
    const { statusCode, body } = await askToken(await assertion(`${issuer}/token`));
    expect(body).toMatchObject({ scope: allScopes });
    expect(statusCode).toBe(200);
    const again = await assertion(issuer);
    expect((await askToken(again)).statusCode).toBe(200);
    expect((await askToken(again)).body).toMatchObject({ error: 'invalid_client' });
  });

  test('with a key is refused an assertion for someone else', async () => {
    const { statusCode, body } = await askToken(await assertion('https://elsewhere.example'));
    expect(statusCode).toBe(401);
    expect(body).toMatchObject({ error: 'invalid_client' });
  });

  test.each([
    ['a wrong secret', () => ({ username: 'partner', password: 'wrong' })],
    ['an unknown name', () => ({ username: 'unknown', password: 'wrong' })],
    ["another's secret", () => ({ ...basic('portal'), username: 'partner' })],
  ])('with %s is told so in the form of OAuth', async (_what, credentials) => {
    const { statusCode, body, headers } = await askToken({}, credentials());
    expect(statusCode).toBe(401);
    expect(body).toEqual({ error: 'invalid_client', error_description: 'client authentication failed' });
    expect(headers['www-authenticate']).toMatch(/^Basic /);
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('asks for no other grant', async () => {
    const { statusCode, body } = await askToken({ grant_type: 'password' }, basic('partner'));
    expect(statusCode).toBe(400);
    expect(body).toMatchObject({ error: 'unsupported_grant_type' });
  });

  async function assertion(to: string): Promise<Record<string, string>> {
    const keyed = sandbox.client('keyed-partner') as unknown as { privateJwk: Record<string, string> };
    const key = await importJWK(keyed.privateJwk, 'ES256');
    const jwt = await new SignJWT({})
      .setProtectedHeader({ alg: 'ES256', kid: keyed.privateJwk['kid'] ?? '' })
      .setIssuer('keyed-partner')
      .setSubject('keyed-partner')
      .setAudience(to)
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key);
    return {
      client_assertion: jwt,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    };
  }
});

describe('the issuer', () => {
  test('describes itself under its public address, whatever address was called', async () => {
    const { body } = await http<Record<string, unknown>>(
      `${sandbox.url}/auth/.well-known/openid-configuration`,
    );
    expect(body).toMatchObject({
      issuer,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      grant_types_supported: ['client_credentials'],
    });
  });

  test('publishes no private part of its key', async () => {
    const { body } = await http<{ keys: Record<string, unknown>[] }>(`${sandbox.url}/auth/jwks`);
    expect(body.keys).toHaveLength(1);
    expect(body.keys[0]).not.toHaveProperty('d');
  });

  test('answers other methods and paths with the error body', async () => {
    const method = await http.get<Record<string, unknown>>(`${sandbox.url}/auth/token`);
    expect(method.statusCode).toBe(405);
    expect(method.headers.allow).toContain('POST');
    expect(method.body).toMatchObject({ code: 'method_not_allowed', requestId: expect.any(String) });
    const path = await http.get<Record<string, unknown>>(`${sandbox.url}/auth/auth`);
    expect(path.statusCode).toBe(404);
    expect(path.body).toMatchObject({ code: 'not_found' });
  });

  test('keeps its key and its clients when it is killed and started again', async () => {
    const before = sandbox.client('partner');
    const { body } = await askToken({}, basic('partner'));
    await sandbox.kill();
    await sandbox.restart();
    expect(sandbox.client('partner')).toEqual(before);
    const keys = createRemoteJWKSet(new URL(`${sandbox.url}/auth/jwks`));
    await expect(jwtVerify(String(body['access_token']), keys, { issuer, audience })).resolves.toBeDefined();
  });

  test('says nothing on its output but its log', () => {
    for (const line of sandbox.output().split('\n').filter(Boolean)) {
      expect(() => JSON.parse(line) as unknown).not.toThrow();
    }
  });
});
