import { describe, expect, test } from '@jest/globals';
import { generateSecret, InvalidSecretError, sign, verify, type Verification } from '../src/index.ts';

const nowSeconds = 1_750_000_000;
const secret = generateSecret();
const body = Buffer.from('{"id":"evt_1","name":"José"}');
const headers = sign({ id: 'evt_1', body, secrets: [secret], timestampSeconds: nowSeconds });

function result(change: Partial<Verification>) {
  return verify({ headers, body, secrets: [secret], nowSeconds, ...change });
}

describe.each(['service', 'standard'] as const)('verify, scheme %s', (scheme) => {
  test('accepts what was signed', () => {
    expect(result({ scheme })).toEqual({ ok: true });
  });

  test('refuses each body of which one byte changed', () => {
    for (let at = 0; at < body.length; at++) {
      const changed = Buffer.from(body);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(result({ scheme, body: changed })).toEqual({ ok: false, reason: 'no_match' });
    }
  });

  test('refuses each signature of which one character changed', () => {
    const name = scheme === 'service' ? 'x-service-signature' : 'webhook-signature';
    const signature = headers[name];
    for (let at = signature.indexOf('v1') + 3; at < signature.length; at++) {
      const other = signature[at] === 'A' ? 'B' : 'A';
      const changed = signature.slice(0, at) + other + signature.slice(at + 1);
      expect(result({ scheme, headers: { ...headers, [name]: changed } }).ok).toBe(false);
    }
  });

  test('refuses another secret, and none', () => {
    expect(result({ scheme, secrets: [generateSecret()] })).toEqual({ ok: false, reason: 'no_match' });
    expect(result({ scheme, secrets: [] })).toEqual({ ok: false, reason: 'no_match' });
  });

  test('accepts either secret of a rotation, on either side', () => {
    const next = generateSecret();
    const both = sign({ id: 'evt_1', body, secrets: [next, secret], timestampSeconds: nowSeconds });
    expect(result({ scheme, headers: { ...both }, secrets: [next] }).ok).toBe(true);
    expect(result({ scheme, headers: { ...both }, secrets: [secret] }).ok).toBe(true);
    expect(result({ scheme, secrets: [next, secret] }).ok).toBe(true);
  });

  test('accepts a timestamp up to the tolerance away and none beyond it', () => {
    const stale = { ok: false, reason: 'timestamp_out_of_tolerance' };
    expect(result({ scheme, nowSeconds: nowSeconds + 300 }).ok).toBe(true);
    expect(result({ scheme, nowSeconds: nowSeconds + 301 })).toEqual(stale);
    expect(result({ scheme, nowSeconds: nowSeconds - 300 }).ok).toBe(true);
    expect(result({ scheme, nowSeconds: nowSeconds - 301 })).toEqual(stale);
    expect(result({ scheme, nowSeconds: nowSeconds + 11, toleranceSeconds: 10 })).toEqual(stale);
  });

  test('refuses a timestamp that was made young again', () => {
    const young = {
      ...headers,
      'x-service-signature': headers['x-service-signature'].replace(`${nowSeconds}`, `${nowSeconds + 1}`),
      'webhook-timestamp': `${nowSeconds + 1}`,
    };
    expect(result({ scheme, headers: young })).toEqual({ ok: false, reason: 'no_match' });
  });

  test('says when a header is missing', () => {
    expect(result({ scheme, headers: {} })).toEqual({ ok: false, reason: 'missing_header' });
  });

  test('reads headers in any case, and Fetch headers', () => {
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    expect(result({ scheme, headers: upper }).ok).toBe(true);
    expect(result({ scheme, headers: new Headers(Object.entries(headers)) }).ok).toBe(true);
  });

  test('throws on a malformed secret of its own', () => {
    expect(() => result({ scheme, secrets: ['secret'] })).toThrow(InvalidSecretError);
  });
});

test.each([
  'v1=abc',
  't=,v1=abc',
  't=1e9,v1=abc',
  't=-1,v1=abc',
  `t=${nowSeconds},t=${nowSeconds},v1=abc`,
  `t=${nowSeconds},v1`,
  '=,=',
  ',',
])('the header %j is malformed', (header) => {
  expect(result({ headers: { 'x-service-signature': header } })).toEqual({
    ok: false,
    reason: 'malformed_header',
  });
});

test('a header sent twice is malformed', () => {
  const twice = [headers['x-service-signature'], headers['x-service-signature']];
  expect(result({ headers: { 'x-service-signature': twice } })).toEqual({
    ok: false,
    reason: 'malformed_header',
  });
});

test.each([{ 'webhook-signature': 'v1' }, { 'webhook-signature': ' ' }, { 'webhook-timestamp': 'now' }])(
  'the standard headers are malformed with %j',
  (change) => {
    expect(result({ scheme: 'standard', headers: { ...headers, ...change } })).toEqual({
      ok: false,
      reason: 'malformed_header',
    });
  },
);

test('passes over signatures of schemes it does not know', () => {
  const service = `t=${nowSeconds},v0=abc,${headers['x-service-signature'].split(',')[1]},v2=a==`;
  expect(result({ headers: { 'x-service-signature': service } }).ok).toBe(true);
  const standard = { ...headers, 'webhook-signature': `v1a,abc ${headers['webhook-signature']}` };
  expect(result({ scheme: 'standard', headers: standard }).ok).toBe(true);
  expect(result({ headers: { 'x-service-signature': `t=${nowSeconds}` } })).toEqual({
    ok: false,
    reason: 'no_match',
  });
});
