import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { route } from '../src/index.ts';
import { call } from './support/call.ts';
import { startApi, type Api } from './support/start-api.ts';

let api: Api;
beforeAll(async () => {
  api = await startApi([
    route({
      method: 'post',
      path: '/things',
      scope: 'any',
      body: z.strictObject({
        name: z.string().min(1).max(5).nullish(),
        count: z.int().min(1).nullish(),
        kind: z.enum(['a', 'b']).nullish(),
        more: z.record(z.string(), z.unknown()).nullish(),
      }),
      bodyFaults: (body) =>
        (body as { name?: unknown } | null)?.name === '123-45-6789'
          ? [{ pointer: '/name', code: 'direct_identifier', message: 'must be an opaque reference' }]
          : [],
      handle: ({ body }) => ({ status: 201, body }),
    }),
    route({
      method: 'post',
      path: '/optional',
      scope: 'any',
      body: z.strictObject({ name: z.string().nullish() }),
      bodyOptional: true,
      handle: ({ body }) => ({ status: 200, body }),
    }),
    route({
      method: 'post',
      path: '/none',
      scope: 'any',
      handle: ({ body }) => ({ status: 200, body: { got: body ?? null } }),
    }),
  ]);
});
afterAll(() => api.stop());

const post = (body: string | Buffer, headers: Record<string, string> = {}, path = '/things') =>
  call('POST', api.url + path, {
    headers: { ...api.as('writer'), 'content-type': 'application/json', ...headers },
    body,
  });

describe('the media type', () => {
  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; x=y',
  ])('%j is taken', async (type) => {
    expect((await post('{}', { 'content-type': type })).status).toBe(201);
  });
  test.each([
    'text/plain',
    'application/jsonp',
    'application/merge-patch+json',
    'application/json; charset=latin1',
    'application/json, text/plain',
    'json',
    ';',
    '/',
    'application/json; charset=utf-16',
  ])('%j is 415 and says what is taken', async (type) => {
    const answer = await post('{}', { 'content-type': type });
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
    expect(answer.headers['accept']).toBe('application/json');
  });
  test('a body without a type is 415', async () => {
    const answer = await call('POST', `${api.url}/things`, {
      headers: api.as('writer'),
      body: Buffer.from('{}'),
    });
    expect(answer.status).toBe(415);
  });
  test('a body in a content coding is 415, and is not unpacked', async () => {
    expect((await post(gzipSync('{}'), { 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await post('{}', { 'content-encoding': 'identity' })).status).toBe(201);
  });
});

describe('what is not JSON in UTF-8 is 400 malformed_json', () => {
  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['half of it', '{"name":'],
    ['two of it', '{}{}'],
    ['a comma too many', '{"name":"a",}'],
    ['single quotes', "{'name':'a'}"],
    ['NaN', '{"count":NaN}'],
    ['a comment', '{} // all'],
    ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['a raw control character', '{"name":"a\u0001"}'],
    ['a name twice', '{"name":"a","name":"b"}'],
    ['a name twice with one value', '{"name":"a","name":"a"}'],
    ['a name twice in other words', '{"name":"a","n\\u0061me":"b"}'],
    ['a name twice, deep within', '{"name":"a","more":[{"b":{},"c":["{"]},{"b":1,"c":2,"b":3}]}'],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}'],
  ])('%s', async (_what, body) => {
    const answer = await post(body);
    expect([answer.status, answer.body.code, answer.body.details]).toEqual([
      400,
      'malformed_json',
      undefined,
    ]);
  });
});

describe('JSON that no body may have is 400 validation_error', () => {
  const deep = (levels: number): string =>
    '{"more":' + '{"a":'.repeat(levels - 2) + '{}' + '}'.repeat(levels - 2) + '}';

  test('32 levels are taken, the root being the first; 33 are too deep', async () => {
    expect((await post(deep(32))).status).toBe(201);
    const answer = await post(deep(33));
    expect(answer.body).toMatchObject({ code: 'validation_error', details: [{ code: 'too_deep' }] });
  });
  test('a hundred thousand levels are refused and not followed', async () => {
    const body = `{"more":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    const answer = await post(body);
    expect(answer.body).toMatchObject({ code: 'validation_error', details: [{ code: 'too_deep' }] });
  });

  test.each<[string, string, object]>([
    ['__proto__ as a key', '{"__proto__":{"name":"a"}}', { pointer: '', code: 'invalid_key' }],
    [
      '__proto__ further down',
      '{"more":{"a":[{"__proto__":1}]}}',
      { pointer: '/more/a/0', code: 'invalid_key' },
    ],
    [
      '__proto__ spelt with escapes',
      '{"more":{"\\u005f_proto__":1}}',
      { pointer: '/more', code: 'invalid_key' },
    ],
    ['NUL in a text', '{"more":{"a":"x\\u0000y"}}', { pointer: '/more/a', code: 'invalid_text' }],
    ['NUL in a key', '{"more":{"a\\u0000":1}}', { pointer: '/more', code: 'invalid_key' }],
    ['a lone surrogate', '{"more":{"a":"\\ud800"}}', { pointer: '/more/a', code: 'invalid_text' }],
    ['a lone surrogate in a key', '{"more":{"\\udc00":1}}', { pointer: '/more', code: 'invalid_key' }],
    ['an infinite number', '{"more":{"a":1e999}}', { pointer: '/more/a', code: 'inexact_number' }],
    ['2 to the 53rd', '{"more":{"a":9007199254740992}}', { pointer: '/more/a', code: 'inexact_number' }],
    [
      '2 to the 53rd and 1',
      '{"more":{"a":[9007199254740993]}}',
      { pointer: '/more/a/0', code: 'inexact_number' },
    ],
    [
      'a large integer with an exponent',
      '{"more":{"a":1e300}}',
      { pointer: '/more/a', code: 'inexact_number' },
    ],
    ['keys that need escaping in a pointer', '{"more":{"a/b~c":"\\u0000"}}', { pointer: '/more/a~1b~0c' }],
  ])('%s', async (_what, body, detail) => {
    const answer = await post(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_error']);
    expect(answer.body.details).toContainEqual(expect.objectContaining(detail));
    expect(({} as { name?: unknown }).name).toBeUndefined();
  });

  test.each([
    '{"more":{"a":9007199254740991,"b":-9007199254740991,"c":0.1,"d":1e-999,"e":-0}}',
    '{"more":{"a":"\\ud83d\\ude00","constructor":1,"toString":null}}',
    '\ufeff{}',
    '  {"name":null}\n',
  ])('%s is taken', async (body) => {
    expect((await post(body)).status).toBe(201);
  });
});

describe('the shape', () => {
  test('all faults are told at once, each where it is, none with its value', async () => {
    const answer = await post(
      '{"name":"SECRET","count":0.5,"kind":"SECRET","SECRET2":1,"more":{"a":"\\u0000"}}',
    );
    expect(answer.body.code).toBe('validation_error');
    expect(answer.body.details).toHaveLength(5);
    expect(answer.body.details).toEqual(
      expect.arrayContaining([
        { pointer: '/name', code: 'too_long', message: expect.stringContaining('5') },
        { pointer: '/count', code: 'invalid_type', message: expect.stringContaining('must be') },
        { pointer: '/kind', code: 'invalid_value', message: 'must be one of a, b' },
        { pointer: '/SECRET2', code: 'unknown_field', message: 'is not a field of this body' },
        { pointer: '/more/a', code: 'invalid_text', message: 'must not contain NUL' },
      ]),
    );
    expect(JSON.stringify(answer.body).replace('/SECRET2', '')).not.toContain('SECRET');
  });

  test('a direct identifier gives its code to the whole, whatever else is wrong', async () => {
    const answer = await post('{"name":"123-45-6789","count":0}');
    expect([answer.status, answer.body.code]).toEqual([400, 'direct_identifier']);
    expect(answer.body.details.map((detail: { code: string }) => detail.code)).toContain('direct_identifier');
    expect(JSON.stringify(answer.body)).not.toContain('123-45-6789');
  });

  test.each(['[]', '"text"', '5', 'null', 'true'])('%s is no object', async (body) => {
    const answer = await post(body);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_error']);
    expect(answer.body.details).toEqual([
      { pointer: '', code: 'invalid_type', message: 'must be an object' },
    ]);
  });

  test('more faults than anyone reads are cut, and long names are not sent back', async () => {
    const key = 'k'.repeat(100_000);
    const answer = await post(`{"more":{"${key}":[${'1e999,'.repeat(20_000)}1e999]}}`);
    expect(answer.body.details).toHaveLength(100);
    expect(answer.bytes.length).toBeLessThan(20_000);
    expect(answer.body.details[0]).toMatchObject({ pointer: '/more', code: 'inexact_number' });
  });

  test('lengths are counted in code points', async () => {
    expect((await post(JSON.stringify({ name: '😀😀😀😀😀' }))).status).toBe(201);
    expect((await post(JSON.stringify({ name: '😀😀😀😀😀😀' }))).status).toBe(400);
  });
});

describe('a body that may be absent', () => {
  test('is an empty object when it is', async () => {
    const headers = api.as('writer');
    expect((await call('POST', `${api.url}/optional`, { headers })).body).toEqual({});
    const empty = await call('POST', `${api.url}/optional`, {
      headers: { ...headers, 'content-length': '0' },
    });
    expect(empty.body).toEqual({});
  });
  test('is held to its type and shape when it is there', async () => {
    expect((await post('{"name":"a"}', {}, '/optional')).body).toEqual({ name: 'a' });
    expect((await post('{"nam":"a"}', {}, '/optional')).status).toBe(400);
    expect((await post('x', { 'content-type': 'text/plain' }, '/optional')).status).toBe(415);
  });
});

test('an operation without a body passes over one, whatever it is', async () => {
  expect((await post('{"broken', { 'content-type': 'image/png' }, '/none')).body).toEqual({ got: null });
});
