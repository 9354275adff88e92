import { expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { createTestIssuer } from '../src/index.ts';

test('a token verifies against the published keys, and no longer once the key was rotated', async () => {
  const issuer = await createTestIssuer();
  const verify = (token: string) =>
    jwtVerify(token, createRemoteJWKSet(new URL(issuer.jwksUri)), {
      issuer: issuer.issuer,
      audience: issuer.audience,
      typ: 'at+jwt',
    });
  const token = issuer.token({ clientId: 'partner', scopes: ['applications:read', 'events:manage'] });
  const { payload } = await verify(token);
  expect(payload).toMatchObject({
    client_id: 'partner',
    sub: 'partner',
    scope: 'applications:read events:manage',
  });
  expect(payload.exp! - payload.iat!).toBe(600);

  issuer.rotateKey();
  await expect(verify(token)).rejects.toThrow('no applicable key');
  await verify(issuer.token());
  await issuer.close();
});

test('claims and header fields are replaced as given, and left out when null', async () => {
  const issuer = await createTestIssuer();
  const token = issuer.token({ claims: { exp: null, scope: 'x' }, header: { typ: 'JWT', crit: ['y'] } });
  expect(decodeProtectedHeader(token)).toMatchObject({ typ: 'JWT', crit: ['y'] });
  const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
  expect(claims).not.toHaveProperty('exp');
  expect(claims.scope).toBe('x');
  await issuer.close();
});
