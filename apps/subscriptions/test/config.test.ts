import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { config } from '../src/config.ts';

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

test('what is not set is as an agency runs it', () => {
  expect(config.parse(needed)).toMatchObject({
    CALLBACK_RULES: 'public',
    CALLBACK_ALLOWED_NETWORKS: [],
    MAX_SUBSCRIPTIONS_PER_CLIENT: 200,
    SECRET_OVERLAP_MS: 86_400_000,
    RATE_LIMIT_PER_SECOND: 50,
    OPERATOR_CLIENTS: [],
  });
});
