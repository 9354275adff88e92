import { expect, test } from '@jest/globals';
import { generateSecret } from '@assistance/webhook-signature';
import { inboxWish, nextSettings } from '../src/inbox/inbox-settings.ts';

const first = generateSecret();
const second = generateSecret();
const failing = { status: 503, delayMs: 10, failFirst: 2, failUntil: 3, secret: first };
const plain = { status: 200, delayMs: 0, failFirst: 0, failUntil: 7, secret: first };

test('an inbox answers 200 at once unless asked otherwise', () => {
  expect(nextSettings(undefined, {}, 1)).toEqual({ ...plain, failUntil: 1, secret: null });
});

test('what is absent or null is the default again, but the secret stays', () => {
  expect(nextSettings(failing, {}, 7)).toEqual(plain);
  expect(nextSettings(failing, { status: null, delayMs: null, failFirst: null, secret: null }, 7)).toEqual(
    plain,
  );
  expect(nextSettings(failing, { secret: first }, 7)).toEqual(plain);
});

test('a body with nothing but a new secret changes nothing else', () => {
  expect(nextSettings(failing, { secret: second }, 7)).toEqual({ ...failing, secret: second });
  expect(nextSettings(failing, { secret: second, status: 200 }, 7)).toEqual({ ...plain, secret: second });
});

test('the first so many from now on fail', () => {
  expect(nextSettings(plain, { failFirst: 3 }, 7)).toMatchObject({ failFirst: 3, failUntil: 10 });
});

test.each([
  { status: 199 },
  { status: 600 },
  { delayMs: -1 },
  { failFirst: 0.5 },
  { secret: 'whsec_' },
  { other: 1 },
])('refuses %j', (wish) => {
  expect(inboxWish.safeParse(wish).success).toBe(false);
});
