import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { randomUUID, sign } from 'node:crypto';
import { waitUntil } from '@assistance/test-kit';
import { ApiError, createTokenVerifier, tokenIssuer, type TokenVerifier } from '../src/index.ts';
import {
  compactToken,
  createTestKey,
  hmacWith,
  signWith,
  startKeyServer,
  type KeyServer,
} from './support/key-server.ts';

const audience = 'https://assistance.test';
const key = createTestKey('ES256');
const rsaKey = createTestKey('RS256');
const pssKey = createTestKey('PS256');
const strangersKey = createTestKey('ES256');
let server: KeyServer;
let other: KeyServer;
let verifier: TokenVerifier;
beforeAll(async () => {
  server = await startKeyServer(key, rsaKey, pssKey);
  other = await startKeyServer(strangersKey);
  verifier = verifierFor({ issuer: server.issuer }, { issuer: other.issuer });
});
afterAll(async () => {
  await server.close();
  await other.close();
});

const verifierFor = (...issuers: object[]) =>
  createTokenVerifier({ issuers: issuers.map((issuer) => tokenIssuer.parse(issuer)), audience });
const nowSeconds = () => Math.floor(Date.now() / 1000);
const header = { alg: 'ES256', typ: 'at+jwt', kid: key.kid };
const claims = () => ({
  iss: server.issuer,
  aud: audience,
  sub: 'partner',
  client_id: 'partner',
  iat: nowSeconds(),
  exp: nowSeconds() + 600,
  jti: randomUUID(),
  scope: 'applications:read events:manage',
});
/** A good token but for what is replaced; undefined leaves out. */
const token = (replacedClaims: object = {}, replacedHeader: object = {}, signature = signWith(key)) =>
  compactToken({ ...header, ...replacedHeader }, { ...claims(), ...replacedClaims }, signature);

async function refusal(text: string, by = verifier): Promise<ApiError> {
  try {
    await by.verify(text);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('the token was accepted');
}

describe('a good token', () => {
  test('tells who calls and what it may', async () => {
    expect(await verifier.verify(token())).toEqual({
      issuer: server.issuer,
      clientId: 'partner',
      subject: 'partner',
      scopes: new Set(['applications:read', 'events:manage']),
      owner: `${server.issuer}#partner`,
    });
  });

  test.each<[string, () => string]>([
    ['signed with RS256', () => token({}, { alg: 'RS256', kid: rsaKey.kid }, signWith(rsaKey))],
    ['signed with PS256', () => token({}, { alg: 'PS256', kid: pssKey.kid }, signWith(pssKey))],
    ['with several audiences', () => token({ aud: ['https://other.test', audience] })],
    ['with typ application/at+jwt', () => token({}, { typ: 'application/at+jwt' })],
    ['with typ in capitals', () => token({}, { typ: 'AT+JWT' })],
    ['that has just run out by a clock a little ahead', () => token({ exp: nowSeconds() - 20 })],
    ['from a clock a little ahead', () => token({ iat: nowSeconds() + 20, nbf: nowSeconds() + 20 })],
    ['without a kid, when only one key fits its algorithm', () => token({}, { kid: undefined })],
    ['with azp in place of client_id', () => token({ client_id: undefined, azp: 'partner' })],
  ])('%s is accepted', async (_what, make) => {
    expect((await verifier.verify(make())).clientId).toBe('partner');
  });

  test.each<[string, object, string[]]>([
    ['a text', { scope: 'a b  c' }, ['a', 'b', 'c']],
    ['a list', { scope: ['a', 'b'] }, ['a', 'b']],
    ['scp', { scope: undefined, scp: 'a b' }, ['a', 'b']],
    ['both', { scope: 'a', scp: ['b'] }, ['a', 'b']],
    ['neither', { scope: undefined }, []],
    ['what is no scope', { scope: { a: 1 }, scp: [1, null, 'b'] }, ['b']],
  ])('has the scopes of %s', async (_what, replaced, scopes) => {
    expect([...(await verifier.verify(token(replaced))).scopes].sort()).toEqual(scopes);
  });
});

const publicPem = () => key.publicKey.export({ type: 'spki', format: 'pem' });
const attackersJwk = () => strangersKey.publicKey.export({ format: 'jwk' });
const attackersCertificate = () =>
  strangersKey.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');

describe('a token is 401 token_invalid', () => {
  test.each<[string, () => string]>([
    ['that is no token', () => 'nonsense'],
    ['of two parts', () => 'a.b'],
    ['of three empty parts', () => '..'],
    ['whose claims are no object', () => compactToken(header, '"text"', signWith(key))],
    ['whose claims are a list', () => compactToken(header, [], signWith(key))],
    ['whose header is no JSON', () => `bm90anNvbg.${token().split('.').slice(1).join('.')}`],
    ['whose header is null', () => compactToken('null', claims(), signWith(key))],
    [
      'with alg none and no signature',
      () => compactToken({ ...header, alg: 'none' }, claims(), () => Buffer.alloc(0)),
    ],
    ['with alg nOnE', () => compactToken({ ...header, alg: 'nOnE' }, claims(), () => Buffer.alloc(0))],
    ['without alg', () => token({}, { alg: undefined })],
    ['with HS256 keyed with the public key in PEM', () => token({}, { alg: 'HS256' }, hmacWith(publicPem()))],
    ['with HS256 keyed with nothing', () => token({}, { alg: 'HS256' }, hmacWith(''))],
    ['with ES384', () => token({}, { alg: 'ES384' })],
    ['with an algorithm that its key is not for', () => token({}, { alg: 'RS256' })],
    [
      'with PS256 under a key for RS256',
      () => token({}, { alg: 'PS256', kid: rsaKey.kid }, signWith({ ...rsaKey, alg: 'PS256' })),
    ],
    ['without a signature', () => token().split('.').slice(0, 2).join('.') + '.'],
    ['with a changed claim', () => changed(token())],
    ['with a signature of zeros', () => compactToken(header, claims(), () => Buffer.alloc(64))],
    ["signed with a stranger's key under our kid", () => token({}, {}, signWith(strangersKey))],
    [
      'whose key comes in its header',
      () => token({}, { jwk: attackersJwk(), kid: undefined }, signWith(strangersKey)),
    ],
    [
      'whose key set is named in its header',
      () => token({}, { jku: `${other.issuer}/jwks`, kid: strangersKey.kid }, signWith(strangersKey)),
    ],
    [
      'whose certificate comes in its header',
      () => token({}, { x5c: [attackersCertificate()], kid: undefined }, signWith(strangersKey)),
    ],
    [
      'whose certificate is named in its header',
      () => token({}, { x5u: `${other.issuer}/jwks`, kid: strangersKey.kid }, signWith(strangersKey)),
    ],
    [
      'with HS256 keyed with the public key as it is published',
      () => token({}, { alg: 'HS256' }, hmacWith(JSON.stringify(key.publicKey.export({ format: 'jwk' })))),
    ],
    [
      'with a signature in DER',
      () => token({}, {}, (signed) => sign('sha256', Buffer.from(signed), key.privateKey)),
    ],
    ['with the kid of another issuer', () => token({}, { kid: strangersKey.kid }, signWith(strangersKey))],
    ['with a kid that is no text', () => token({}, { kid: { $ne: null } })],
    ['with critical parameters', () => token({}, { crit: ['b64'], b64: true })],
    ['with an empty crit', () => token({}, { crit: [] })],
    ['with typ JWT', () => token({}, { typ: 'JWT' })],
    ['without typ', () => token({}, { typ: undefined })],
    ['with a typ that is no text', () => token({}, { typ: ['at+jwt'] })],
    ['of an issuer that is not trusted', () => token({ iss: 'https://evil.test' })],
    ['of an issuer that is nearly ours', () => token({ iss: `${server.issuer}/` })],
    ['of another trusted issuer, signed by this one', () => token({ iss: other.issuer })],
    ['without an issuer', () => token({ iss: undefined })],
    ['of a list of issuers', () => token({ iss: [server.issuer] })],
    ['for another audience', () => token({ aud: 'https://other.test' })],
    ['for an audience that is nearly ours', () => token({ aud: `${audience}/` })],
    ['without an audience', () => token({ aud: undefined })],
    ['without exp', () => token({ exp: undefined })],
    ['with exp as text', () => token({ exp: String(nowSeconds() + 600) })],
    ['with exp of null', () => token({ exp: null })],
    ['that has run out', () => token({ iat: nowSeconds() - 900, exp: nowSeconds() - 40 })],
    ['that is not yet good', () => token({ nbf: nowSeconds() + 40 })],
    ['with nbf as text', () => token({ nbf: 'now' })],
    ['without iat', () => token({ iat: undefined })],
    ['with iat in the future', () => token({ iat: nowSeconds() + 40 })],
    ['with iat as text', () => token({ iat: String(nowSeconds()) })],
    ['without a client', () => token({ client_id: undefined })],
    ['with an empty client', () => token({ client_id: '' })],
    ['with a client that is no text', () => token({ client_id: 1 })],
  ])('%s', async (_what, make) => {
    const { status, code, headers, message } = await refusal(make());
    expect([status, code]).toEqual([401, 'token_invalid']);
    expect(headers['WWW-Authenticate']).toBe('Bearer realm="assistance", error="invalid_token"');
    expect(message).not.toMatch(/partner|evil|127\.0\.0\.1/);
  });
});

const changed = (text: string): string => {
  const [head, body = '', signature] = text.split('.');
  const altered = { ...JSON.parse(Buffer.from(body, 'base64url').toString()), client_id: 'admin' };
  return `${head}.${Buffer.from(JSON.stringify(altered)).toString('base64url')}.${signature}`;
};

describe("an agency's own identity provider fits by configuration:", () => {
  test('another typ, other names for client and scopes', async () => {
    const configured = verifierFor({
      issuer: server.issuer,
      acceptedTyp: ['JWT'],
      clientIdClaim: 'appid',
      scopeClaim: 'roles',
    });
    const caller = await configured.verify(
      token(
        { client_id: 'ignored', appid: 'agency', roles: ['events:manage'], scope: 'ignored' },
        { typ: 'JWT' },
      ),
    );
    expect(caller).toMatchObject({ clientId: 'agency', scopes: new Set(['events:manage']) });
  });

  test('a key set named by configuration needs no discovery', async () => {
    const configured = verifierFor({ issuer: 'https://elsewhere.test', jwksUri: `${server.issuer}/jwks` });
    expect((await configured.verify(token({ iss: 'https://elsewhere.test' }))).issuer).toBe(
      'https://elsewhere.test',
    );
  });

  test("another's discovery document is not believed", async () => {
    const impostor = await startKeyServer(key);
    const issuer = impostor.issuer;
    impostor.issuer = server.issuer;
    const { status } = await refusal(token({ iss: issuer }), verifierFor({ issuer }));
    expect(status).toBe(503);
    await impostor.close();
  });

  describe('a delegated token must show how its user was authenticated', () => {
    const strict = () =>
      verifierFor({ issuer: server.issuer, requireAmr: ['sc', 'hwk'], requireAcr: ['high'] });
    const evidence = { sub: 'user-1', amr: ['pwd', 'sc'], acr: 'high' };

    test('with it, it is accepted and keeps its client as owner', async () => {
      const caller = await strict().verify(token(evidence));
      expect(caller).toMatchObject({ subject: 'user-1', owner: `${server.issuer}#partner` });
    });
    test("a client's own token needs none", async () => {
      expect((await strict().verify(token())).subject).toBe('partner');
    });
    test.each([
      { amr: ['pwd'] },
      { amr: undefined },
      { amr: 'sc' },
      { acr: 'low' },
      { acr: undefined },
      { acr: ['high'] },
    ])('with %j it is 401 with a challenge that asks for it', async (replaced) => {
      const { status, code, headers } = await refusal(token({ ...evidence, ...replaced }), strict());
      expect([status, code]).toEqual([401, 'token_invalid']);
      expect(headers['WWW-Authenticate']).toContain('error="insufficient_user_authentication"');
    });
  });
});

describe('when the keys cannot be had', () => {
  test.each(['broken', 'nonsense'] as const)(
    'it is 503, not 401, and good again when the issuer is (%s)',
    async (mood) => {
      const issuer = await startKeyServer(key);
      issuer.mood = mood;
      for (const config of [
        { issuer: issuer.issuer },
        { issuer: issuer.issuer, jwksUri: `${issuer.issuer}/jwks` },
      ]) {
        issuer.mood = mood;
        const fresh = verifierFor(config);
        const { status, code, headers } = await refusal(token({ iss: issuer.issuer }), fresh);
        expect([status, code]).toEqual([503, 'unavailable']);
        expect(headers['Retry-After']).toBe('2');
        issuer.mood = 'well';
        const caller = await waitUntil(() => fresh.verify(token({ iss: issuer.issuer })));
        expect(caller.clientId).toBe('partner');
      }
      await issuer.close();
    },
  );

  test('a flood of tokens does not hammer an issuer that is broken', async () => {
    const issuer = await startKeyServer(key);
    issuer.mood = 'broken';
    const fresh = verifierFor({ issuer: issuer.issuer, jwksUri: `${issuer.issuer}/jwks` });
    const floodedSince = performance.now();
    for (let i = 0; i < 100; i++) {
      const kid = randomUUID();
      expect((await refusal(token({ iss: issuer.issuer }, { kid }), fresh)).status).toBe(503);
    }
    expect(issuer.asked).toBeLessThanOrEqual(1 + (performance.now() - floodedSince) / 500);
    await issuer.close();
  });

  test('an issuer that never answers is given up after 5 s', async () => {
    const issuer = await startKeyServer(key);
    issuer.mood = 'silent';
    const startedAt = performance.now();
    const { status } = await refusal(token({ iss: issuer.issuer }), verifierFor({ issuer: issuer.issuer }));
    expect(status).toBe(503);
    expect(performance.now() - startedAt).toBeLessThan(7_000);
    await issuer.close();
  });

  test('keys that are known go on being good through an outage; one that is not known is 503 until it is over', async () => {
    const later = createTestKey();
    const issuer = await startKeyServer(key);
    const fresh = verifierFor({ issuer: issuer.issuer });
    await fresh.verify(token({ iss: issuer.issuer }));

    issuer.mood = 'broken';
    // As after ten minutes, when the keys are to be fetched again.
    const clock = Date.now;
    Date.now = () => clock() + 11 * 60_000;
    try {
      const inTime = { iat: nowSeconds(), exp: nowSeconds() + 600, iss: issuer.issuer };
      await fresh.verify(token(inTime));
      const asked = issuer.asked;
      await fresh.verify(token(inTime));
      expect(issuer.asked).toBe(asked);
      const unknown = await refusal(token(inTime, { kid: later.kid }, signWith(later)), fresh);
      expect(unknown.status).toBe(503);
    } finally {
      Date.now = clock;
    }
    await issuer.close();
  });
});

describe('when the issuer changes its keys', () => {
  test('a new one is fetched when it is first met, and not again and again for one that is none', async () => {
    const issuer = await startKeyServer(key);
    const fresh = verifierFor({ issuer: issuer.issuer });
    await fresh.verify(token({ iss: issuer.issuer }));
    const newer = createTestKey();
    issuer.keys = [newer];
    const clock = Date.now;
    Date.now = () => clock() + 6_000;
    try {
      await fresh.verify(token({ iss: issuer.issuer }, { kid: newer.kid }, signWith(newer)));
      expect(issuer.asked).toBe(2);
      for (let i = 0; i < 20; i++) {
        const unknown = await refusal(token({ iss: issuer.issuer }, { kid: randomUUID() }), fresh);
        expect(unknown.status).toBe(401);
      }
      await Promise.all(
        Array.from({ length: 100 }, () =>
          refusal(token({ iss: issuer.issuer }, { kid: randomUUID() }), fresh),
        ),
      );
      expect(issuer.asked).toBe(2);
      expect((await refusal(token({ iss: issuer.issuer }), fresh)).status).toBe(401);
    } finally {
      Date.now = clock;
    }
    await issuer.close();
  });

  test('tokens that come together fetch the keys once', async () => {
    const issuer = await startKeyServer(key);
    const fresh = verifierFor({ issuer: issuer.issuer });
    await Promise.all(Array.from({ length: 20 }, () => fresh.verify(token({ iss: issuer.issuer }))));
    expect(issuer.asked).toBe(1);
    await issuer.close();
  });
});

describe('a token that was accepted is remembered,', () => {
  let issuer: KeyServer;
  let fresh: TokenVerifier;
  const clock = Date.now;
  beforeEach(async () => {
    issuer = await startKeyServer(key);
    fresh = verifierFor({ issuer: issuer.issuer });
  });
  afterEach(async () => {
    Date.now = clock;
    await issuer.close();
  });

  test('so that its signature is verified once, and the same caller is told', async () => {
    const text = token({ iss: issuer.issuer });
    const first = await fresh.verify(text);
    expect(await fresh.verify(text)).toBe(first);
    expect(await fresh.verify(token({ iss: issuer.issuer }))).not.toBe(first);
  });

  test('for a minute', async () => {
    const text = token({ iss: issuer.issuer });
    const first = await fresh.verify(text);
    const now = performance.now.bind(performance);
    const spy = jest.spyOn(performance, 'now').mockImplementation(() => now() + 61_000);
    const later = await fresh.verify(text).finally(() => spy.mockRestore());
    expect(later).toEqual(first);
    expect(later).not.toBe(first);
  });

  test('but not beyond its exp', async () => {
    const text = token({ iss: issuer.issuer, exp: nowSeconds() + 40 });
    const first = await fresh.verify(text);
    Date.now = () => clock() + 41_000;
    const inTolerance = await fresh.verify(text);
    expect(inTolerance).toEqual(first);
    expect(inTolerance).not.toBe(first);
    Date.now = () => clock() + 80_000;
    expect((await refusal(text, fresh)).status).toBe(401);
  });

  test('but not once its issuer has withdrawn the key, even if another token made that known', async () => {
    const text = token({ iss: issuer.issuer });
    await fresh.verify(text);
    const newer = createTestKey();
    issuer.keys = [newer];
    Date.now = () => clock() + 6_000;
    await fresh.verify(token({ iss: issuer.issuer }, { kid: newer.kid }, signWith(newer)));
    expect((await refusal(text, fresh)).status).toBe(401);
  });

  test('but not once another key bears the name of the one that signed it', async () => {
    const text = token({ iss: issuer.issuer, exp: nowSeconds() + 3_600 });
    await fresh.verify(text);
    issuer.keys = [{ ...createTestKey(), kid: key.kid }];
    // As after ten minutes, when the keys are fetched again.
    Date.now = () => clock() + 11 * 60_000;
    expect((await refusal(text, fresh)).status).toBe(401);
  });

  test('and a token that differs in anything is another, and refused as often as it comes', async () => {
    const text = token({ iss: issuer.issuer });
    await fresh.verify(text);
    for (let i = 0; i < 3; i++) expect((await refusal(changed(text), fresh)).status).toBe(401);
    expect((await refusal(`${text.slice(0, -9)}AAAAAAAAA`, fresh)).status).toBe(401);
  });
});
