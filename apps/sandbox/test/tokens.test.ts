import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { audience, startSandbox, type StartedSandbox } from './start-sandbox.ts';

let sandbox: StartedSandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ DEPLOYMENT: 'agency' });
});
afterAll(() => sandbox.discard());

async function make(wish?: object, options: object = {}): Promise<string> {
  const answer = await sandbox.control.post<{ token: string }>('tokens', { json: wish, ...options });
  expect(answer.statusCode).toBe(201);
  return answer.body.token;
}

test('by default it is a good token of the caller, with all its scopes', async () => {
  const token = await make();
  const keys = createRemoteJWKSet(new URL(`${sandbox.url}/auth/jwks`));
  const issuer = `http://localhost:${sandbox.port}/auth`;
  const { payload } = await jwtVerify(token, keys, { issuer, audience, typ: 'at+jwt' });
  expect(payload).toMatchObject({
    client_id: 'partner',
    sub: 'partner',
    scope: 'applications:read applications:write events:manage',
  });
});

test('it is the token of another client when that asks', async () => {
  const headers = { authorization: `Bearer ${await sandbox.token('nobody')}` };
  const claims = decodeJwt(await make({}, { headers }));
  expect(claims).toMatchObject({ client_id: 'nobody' });
  expect(claims).not.toHaveProperty('scope');
});

test('each claim and header field is replaced as given, and null removes it', async () => {
  const token = await make({
    claims: { exp: 'tomorrow', iat: null, amr: ['sc'], sub: 'caseworker-7', aud: ['a', 'b'] },
    header: { alg: 'none', typ: null, crit: ['exp'] },
  });
  expect(decodeProtectedHeader(token)).toMatchObject({ alg: 'none', crit: ['exp'] });
  expect(decodeProtectedHeader(token)).not.toHaveProperty('typ');
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as object;
  expect(claims).toMatchObject({ exp: 'tomorrow', amr: ['sc'], sub: 'caseworker-7', aud: ['a', 'b'] });
  expect(claims).not.toHaveProperty('iat');
});

test('an expired one is refused by the sandbox itself', async () => {
  const expired = await make({ claims: { exp: 1_700_000_000 } });
  const answer = await sandbox.control.post<{ code: string }>('tokens', {
    headers: { authorization: `Bearer ${expired}` },
  });
  expect(answer.statusCode).toBe(401);
  expect(answer.body.code).toBe('token_invalid');
});

test('without a token it is 401, with a wrong body 400', async () => {
  const nobody = await sandbox.control.post('tokens', { headers: { authorization: undefined } });
  expect(nobody.statusCode).toBe(401);
  expect(nobody.body).toMatchObject({ code: 'token_missing' });
  const wrong = await sandbox.control.post('tokens', { json: { claims: 'all', other: 1 } });
  expect(wrong.statusCode).toBe(400);
  expect(wrong.body).toMatchObject({
    code: 'validation_error',
    details: expect.arrayContaining([
      expect.objectContaining({ pointer: '/claims' }),
      expect.objectContaining({ pointer: '/other', code: 'unknown_field' }),
    ]),
  });
});

test.each([
  ['post', 'events'],
  ['put', 'inboxes/any'],
  ['post', 'cases/any/determination'],
  ['post', 'reviews/any/determination'],
  ['post', 'processes/kafka'],
] as const)('as an agency runs it there is no %s %s', async (method, path) => {
  const answer = await sandbox.control[method](path, { json: {} });
  expect(answer.statusCode).toBe(404);
  expect(answer.body).toMatchObject({ code: 'not_found' });
});

test('it ends with 0 when it is told to', async () => {
  const other = await startSandbox({ DEPLOYMENT: 'agency' });
  expect(await other.stop()).toBe(0);
  await other.discard();
});
