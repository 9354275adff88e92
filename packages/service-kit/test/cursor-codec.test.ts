import { expect, test } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { ApiError, createCursorCodec } from '../src/index.ts';

const codec = createCursorCodec(randomBytes(32));
const binding = ['things', 'owner-1', { status: 'active' }];
const cursor = codec.encode(['2026-01-01T00:00:00.000Z', 'app_1'], binding);

const refused = (decode: () => unknown): void => {
  expect(decode).toThrow(ApiError);
  expect(decode).toThrow(expect.objectContaining({ code: 'invalid_cursor' }));
};

test('gives back the position it was made of, under the same binding', () => {
  expect(codec.decode(cursor, binding)).toEqual(['2026-01-01T00:00:00.000Z', 'app_1']);
});

test('shows nothing of the position, and is safe in a query', () => {
  expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
  expect(Buffer.from(cursor, 'base64url').toString('latin1')).not.toContain('app_1');
  expect(codec.encode(['a'], binding)).not.toBe(codec.encode(['a'], binding));
});

test.each([
  ['another list', ['other', 'owner-1', { status: 'active' }]],
  ['another owner', ['things', 'owner-2', { status: 'active' }]],
  ['other filters', ['things', 'owner-1', { status: 'paused' }]],
  ['no filters', ['things', 'owner-1']],
  ['filters run together', ['things', 'owner-1{"status":"active"}']],
])('is invalid under %s', (_what, other) => {
  refused(() => codec.decode(cursor, other));
});

test('is invalid after any change of a character', () => {
  for (let i = 0; i < cursor.length; i++) {
    const replaced = cursor[i] === 'A' ? 'B' : 'A';
    refused(() => codec.decode(cursor.slice(0, i) + replaced + cursor.slice(i + 1), binding));
  }
});

test.each([
  ['nothing', ''],
  ['a word', 'next'],
  ['cut short', cursor.slice(0, -4)],
  ['made longer', `${cursor}AAAA`],
  ['padded', `${cursor}=`],
  ['with characters that decoders pass over', `${cursor.slice(0, 10)}\n${cursor.slice(10)}`],
  ['in the other alphabet', `${cursor.replaceAll('-', '+').replaceAll('_', '/')}+/`],
  ['of another key', createCursorCodec(randomBytes(32)).encode(['a'], binding)],
])('is invalid: %s', (_what, text) => {
  refused(() => codec.decode(text, binding));
});
