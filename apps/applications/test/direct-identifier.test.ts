import { describe, expect, test } from '@jest/globals';
import { isDirectIdentifier } from '../src/submission/direct-identifier.ts';

describe('names a person directly', () => {
  test.each([
    // e-mail addresses, anywhere
    'jane@example.org',
    'ref jane.doe+x@mail.example.co.uk (home)',
    'mailto:jane@example.org',
    'j\u00f6rg@m\u00fcller.example',
    // social security numbers
    '123-45-6789',
    ' 123-45-6789 ',
    '123 45 6789',
    '123.45.6789',
    '123\u201345\u20136789',
    '123456789',
    '\uff11\uff12\uff13-45-6789',
    // individual taxpayer numbers
    '912-70-1234',
    '912701234',
    '999991234',
    // phone numbers
    '+12025550143',
    '+442079460958',
    '+44 20 7946 0958',
    '+1 (202) 555-0143',
    '(202) 555-0143',
    '(202)555-0143',
    '202-555-0143',
    '202.555.0143',
    '1-202-555-0143',
    '202 555 0143 ext. 12',
  ])('%j', (value) => expect(isDirectIdentifier(value)).toBe(true));
});

describe('is opaque', () => {
  test.each([
    'ref-1',
    'app_01k2x3y4z5',
    '7b1f6d0e-7f6a-4a53-9a3e-0b7c1d9e2f10',
    '12-3456789', // an employer's number
    '000123456', // no area 000
    '666123456',
    '123006789', // no group 00
    '123450000', // no serial 0000
    '912661234', // no such group of taxpayer numbers
    '912931234',
    '12345678',
    '1234567890',
    '2026-000123',
    'case 123-45-6789 of 2026', // not the whole value
    '@home',
    'a@b',
    'x@.',
    '+',
    '+123',
    '+1234567890123456',
    '',
  ])('%j', (value) => expect(isDirectIdentifier(value)).toBe(false));
});

test.each([
  ['letters', 'a'.repeat(250_000)],
  ['at signs', 'a@'.repeat(125_000)],
  ['dots after an at sign', `a@${'b.'.repeat(125_000)}`],
  ['spaces in a phone number', `+1${' '.repeat(250_000)}!`],
])('a long text of %s is judged in no time', (_what, value) => {
  const startedAt = performance.now();
  isDirectIdentifier(value);
  expect(performance.now() - startedAt).toBeLessThan(250);
});
