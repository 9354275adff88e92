import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { config, deliverySettings } from '../src/config.ts';

const key = randomBytes(32).toString('base64');
const needed = {
  HTTP_PORT: '1',
  OPS_PORT: '2',
  DATABASE_URL: 'postgres://db/x',
  KAFKA_BROKERS: 'kafka:9092',
  TOKEN_AUDIENCE: 'all',
  TOKEN_ISSUERS: '[{"issuer":"https://issuer.example"}]',
  KEY_RING: JSON.stringify({ current: 'k1', keys: { k1: key } }),
  CURSOR_KEY: key,
};

test('what is not set is as it is documented', () => {
  const read = config.parse(needed);
  expect(read).toMatchObject({ DELIVERY_TIMEOUT_MS: 15_000, RETENTION_DAYS: 7, CALLBACK_RULES: 'public' });
  expect(deliverySettings(read)).toEqual({
    retryBaseMs: 10_000,
    retryFactor: 3,
    retryMaxMs: 43_200_000,
    retryMaxAttempts: 14,
    laneConcurrency: 8,
    maxInFlight: 100_000,
    failingAfterAttempts: 5,
    failingAfterMs: 300_000,
    failingRetryMaxMs: 600_000,
    pauseAfterMs: 432_000_000,
  });
});
