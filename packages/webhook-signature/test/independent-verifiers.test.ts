import { describe, expect, test } from '@jest/globals';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { generateSecret, sign } from '../src/index.ts';

const stripe = new Stripe('sk_test_unused');

type Verifier = (body: Buffer, headers: Record<string, string>, secret: string) => unknown;

const verifiers: Record<string, Verifier> = {
  stripe: (body, headers, secret) =>
    stripe.webhooks.constructEvent(body, headers['x-service-signature'] ?? '', secret),
  standardwebhooks: (body, headers, secret) => new StandardWebhook(secret).verify(body, headers),
  svix: (body, headers, secret) => new SvixWebhook(secret).verify(body, headers),
};

const body = Buffer.from(
  JSON.stringify({ specversion: '1.0', id: 'evt_1', type: 'application.decided', data: { note: 'José ✓' } }),
);
const secret = generateSecret();
const other = generateSecret();

function signed(secrets: string[], timestampSeconds = Math.floor(Date.now() / 1000)): Record<string, string> {
  return { ...sign({ id: 'evt_1', body, secrets, timestampSeconds }) };
}

// Each library takes the secret exactly as the subscription shows it, `whsec_` included.
describe.each(Object.entries(verifiers))('the npm package %s, unmodified,', (_name, check) => {
  test('accepts a delivery', () => {
    expect(() => check(body, signed([secret]), secret)).not.toThrow();
  });

  test('accepts either secret while one is being rotated', () => {
    const headers = signed([other, secret]);
    expect(() => check(body, headers, secret)).not.toThrow();
    expect(() => check(body, headers, other)).not.toThrow();
  });

  test('refuses a changed byte, another secret and an old timestamp', () => {
    const changed = Buffer.from(body.toString().replace('evt_1', 'evt_2'));
    expect(() => check(changed, signed([secret]), secret)).toThrow();
    expect(() => check(body, signed([other]), secret)).toThrow();
    expect(() => check(body, signed([secret], Math.floor(Date.now() / 1000) - 301), secret)).toThrow();
  });
});
