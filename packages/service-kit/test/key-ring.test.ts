import { describe, expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { createKeyRing, keyRingConfig } from '../src/index.ts';

const key = () => randomBytes(32).toString('base64');
const [k1, k2] = [key(), key()];
const ring = createKeyRing({ current: 'k1', keys: { k1 } });
const secret = Buffer.from('whsec_secret');

test('opens what it sealed, for the same context alone', () => {
  const sealed = ring.seal(secret, 'sub_1');
  expect(ring.open(sealed, 'sub_1')).toEqual(secret);
  expect(() => ring.open(sealed, 'sub_2')).toThrow();
  expect(() => ring.open(sealed, '')).toThrow();
});

test('shows nothing of the secret, nor that two are equal', () => {
  const sealed = ring.seal(secret, 'sub_1');
  expect(sealed).toMatch(/^k1\.[A-Za-z0-9_-]+$/);
  expect(Buffer.from(sealed.slice(3), 'base64url').toString('latin1')).not.toContain('secret');
  expect(ring.seal(secret, 'sub_1')).not.toBe(sealed);
});

test('a change of any bit is noticed', () => {
  const sealed = ring.seal(secret, 'sub_1');
  const bytes = Buffer.from(sealed.slice(3), 'base64url');
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const altered = Buffer.from(bytes);
    altered[bit >> 3]! ^= 1 << (bit & 7);
    expect(() => ring.open(`k1.${altered.toString('base64url')}`, 'sub_1')).toThrow();
  }
});

test.each(['', 'k1', 'k1.', '.', 'k1.AAAA', 'no dot', 'k9.AAAA'])('%j cannot be opened', (text) => {
  expect(() => ring.open(text, 'sub_1')).toThrow();
});

describe('rotation', () => {
  const both = createKeyRing({ current: 'k2', keys: { k1, k2 } });
  const onlyNew = createKeyRing({ current: 'k2', keys: { k2 } });

  test('a ring with both keys opens what each sealed, and seals with the current one', () => {
    expect(both.open(ring.seal(secret, 'c'), 'c')).toEqual(secret);
    const sealed = both.seal(secret, 'c');
    expect([both.keyIdOf(sealed), both.currentKeyId]).toEqual(['k2', 'k2']);
    expect(onlyNew.open(sealed, 'c')).toEqual(secret);
  });
  test('without the old key what it sealed cannot be opened', () => {
    expect(() => onlyNew.open(ring.seal(secret, 'c'), 'c')).toThrow('not in the ring');
  });
  test('a key of the same name with other bytes does not open it', () => {
    const impostor = createKeyRing({ current: 'k1', keys: { k1: k2 } });
    expect(() => impostor.open(ring.seal(secret, 'c'), 'c')).toThrow();
  });
});

test.each<[string, unknown]>([
  ['a key of 31 bytes', { current: 'a', keys: { a: randomBytes(31).toString('base64') } }],
  ['a key that is no base64', { current: 'a', keys: { a: '*'.repeat(44) } }],
  ['a current key that is not there', { current: 'b', keys: { a: k1 } }],
  ['a current key that only looks as if it were there', { current: 'constructor', keys: { a: k1 } }],
  ['a name with the separator in it', { current: 'a', keys: { a: k1, 'b.c': k1 } }],
  ['no keys', { current: 'a' }],
])('a ring with %s is no configuration', (_what, config) => {
  expect(keyRingConfig.safeParse(config).success).toBe(false);
});
