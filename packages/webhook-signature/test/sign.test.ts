import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createSigner, generateSecret, InvalidSecretError, sign } from '../src/index.ts';

const body = Buffer.from('{"test": 2432232314}');
const known = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestampSeconds: 1614265330,
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
};

describe('sign', () => {
  test('gives the known answer of Standard Webhooks', () => {
    const headers = sign({ ...known, body, secrets: [known.secret] });
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
    expect(headers['webhook-id']).toBe(known.id);
    expect(headers['webhook-timestamp']).toBe('1614265330');
  });

  test('signs the timestamp and the body under the secret as it is written', () => {
    const headers = sign({ ...known, body, secrets: [known.secret] });
    const expected = createHmac('sha256', known.secret).update(`1614265330.${body.toString()}`).digest('hex');
    expect(headers['x-service-signature']).toBe(`t=1614265330,v1=${expected}`);
  });

  test('signs once with each live secret, in their order', () => {
    const secrets = [generateSecret(), generateSecret(), generateSecret()];
    const headers = sign({ ...known, body, secrets });
    const alone = secrets.map((secret) => sign({ ...known, body, secrets: [secret] }));
    expect(headers['x-service-signature']).toBe(
      `t=1614265330,${alone.map((one) => one['x-service-signature'].split(',')[1]).join(',')}`,
    );
    expect(headers['webhook-signature']).toBe(alone.map((one) => one['webhook-signature']).join(' '));
  });

  test('signs the bytes, also those that are no text', () => {
    const bytes = Uint8Array.of(0, 255, 254, 128, 10);
    const expected = createHmac('sha256', known.secret).update('1614265330.').update(bytes).digest('hex');
    expect(sign({ ...known, body: bytes, secrets: [known.secret] })['x-service-signature']).toContain(
      expected,
    );
  });

  test('a prepared signer keeps nothing of one message in the next', () => {
    const signMessage = createSigner([known.secret]);
    const first = signMessage({ ...known, body });
    signMessage({ id: 'other', timestampSeconds: 1, body: Buffer.from('other') });
    expect(signMessage({ ...known, body })).toEqual(first);
  });

  test.each([
    '',
    'whsec_',
    'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    'whsec_no base64',
    'whsec_abc',
    'whsec_AAAA\n',
  ])('refuses the malformed secret %j without showing it', (secret) => {
    expect(() => createSigner([secret])).toThrow(InvalidSecretError);
    if (secret.length > 6) expect(() => createSigner([secret])).not.toThrow(secret);
  });

  test('refuses to sign with no secret', () => {
    expect(() => createSigner([])).toThrow(RangeError);
  });
});

test('a generated secret holds 32 random bytes', () => {
  const secret = generateSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(generateSecret()).not.toBe(secret);
});
