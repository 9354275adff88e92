import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { application, errorBody } from '@assistance/types';
import got, { type Got } from 'got';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { get, post, submissionBody, submit } from './support/submission.ts';

let service: Service;
let client: Got;
beforeAll(async () => {
  service = await startService({ decide: false });
  client = clientOf(service);
});
afterAll(() => service.stop());

const pointersOf = (body: any): string[] => body.details.map((detail: any) => detail.pointer);

describe('201', () => {
  test('carries the application with all eight fields, its address and the request id', async () => {
    const requestId = randomUUID();
    const { status, headers, body } = await submit(client, {
      headers: { 'x-request-id': requestId },
      body: {
        channel: 'call_center',
        applicantRef: 'ref-1',
        declarationId: 'dec-1',
        answers: { any: ['thing'] },
      },
    });
    expect(status).toBe(201);
    expect(application.strict().parse(body)).toEqual({
      applicationId: expect.stringMatching(/^app_[0-9a-z]{26}$/),
      programCode: 'ANY-PROGRAM',
      status: 'submitted',
      submittedAt: expect.any(String),
      channel: 'call_center',
      declarationId: 'dec-1',
      applicantRef: 'ref-1',
      caseId: null,
    });
    expect(headers['location']).toBe(`/applications/v1/applications/${body.applicationId}`);
    expect(headers['x-request-id']).toBe(requestId);
    expect(headers['api-version']).toBe('1.0.0');
    expect(headers['idempotent-replayed']).toBeUndefined();
  });

  test('is answered after the commit: what it names can be read at once', async () => {
    const { headers, body } = await submit(client);
    const read = await get(client, String(headers['location']).replace('/applications/v1/', ''));
    expect(read).toMatchObject({ status: 200, body });
  });

  test('submittedAt is a moment of the submission, as it is stored', async () => {
    const before = Date.now() - 1_000;
    const { body } = await submit(client);
    const row = await service.prisma.application.findUniqueOrThrow({
      where: { applicationId: body.applicationId },
    });
    expect(row.submittedAt.toISOString()).toBe(body.submittedAt);
    expect(Date.parse(body.submittedAt)).toBeGreaterThan(before);
    expect(Date.parse(body.submittedAt)).toBeLessThan(Date.now() + 1_000);
  });

  test('null counts as absent', async () => {
    const { status, body } = await submit(client, { body: { declarationId: null, answers: null } });
    expect(status).toBe(201);
    expect(body.declarationId).toBeNull();
  });

  test('is remembered with its history and its audit row', async () => {
    const { body, headers } = await submit(client);
    const { applicationId } = body;
    const history = await service.prisma.applicationHistory.findMany({ where: { applicationId } });
    const audit = await service.prisma.audit.findMany({ where: { applicationId } });
    expect(history).toMatchObject([{ status: 'submitted', version: 1, reason: null }]);
    expect(audit).toMatchObject([
      {
        action: 'application.submitted',
        actor: service.ownerOf('partner'),
        requestId: headers['x-request-id'],
        detail: { programCode: 'ANY-PROGRAM', programVersion: 1 },
      },
    ]);
  });
});

describe('400', () => {
  test.each([
    ['programCode missing', { programCode: undefined }, '/programCode'],
    ['programCode that no program could have', { programCode: 'a b' }, '/programCode'],
    ['programCode of 65 characters', { programCode: 'x'.repeat(65) }, '/programCode'],
    ['channel missing', { channel: undefined }, '/channel'],
    ['a channel that is none of the four', { channel: 'fax' }, '/channel'],
    ['applicantRef missing', { applicantRef: undefined }, '/applicantRef'],
    ['applicantRef that is null', { applicantRef: null }, '/applicantRef'],
    ['applicantRef that is empty', { applicantRef: '' }, '/applicantRef'],
    ['applicantRef with a space at its end', { applicantRef: 'ref ' }, '/applicantRef'],
    ['applicantRef with a line break', { applicantRef: 'a\nb' }, '/applicantRef'],
    ['applicantRef of 129 characters', { applicantRef: 'x'.repeat(129) }, '/applicantRef'],
    ['declarationId that is empty', { declarationId: '' }, '/declarationId'],
    ['declarationId that is a number', { declarationId: 7 }, '/declarationId'],
    ['answers that are a list', { answers: [] }, '/answers'],
    ['answers that are a string', { answers: 'yes' }, '/answers'],
    ['a field that is none', { status: 'awarded' }, '/status'],
    ['a number that JSON cannot carry', { answers: { n: 2 ** 53 } }, '/answers/n'],
    ['a lone surrogate', { answers: { s: '\ud800' } }, '/answers/s'],
    ['NUL', { answers: { s: 'a\0b' } }, '/answers/s'],
  ])('validation_error for %s, with its pointer', async (_what, changes, pointer) => {
    const { status, body } = await submit(client, { body: changes });
    expect({ status, code: body.code, pointers: pointersOf(body) }).toEqual({
      status: 400,
      code: 'validation_error',
      pointers: [pointer],
    });
  });

  test('names all faults at once', async () => {
    const { body } = await submit(client, {
      body: { channel: 'fax', applicantRef: '', extra: 1, programCode: '-' },
    });
    expect(pointersOf(body).sort()).toEqual(['/applicantRef', '/channel', '/extra', '/programCode']);
  });

  test('never repeats what was sent', async () => {
    const { body } = await submit(client, { body: { channel: 'sesame-4711', applicantRef: 'sesame-4711 ' } });
    expect(JSON.stringify(body)).not.toContain('sesame');
  });

  test.each([
    ['applicantRef', '123-45-6789'],
    ['applicantRef', 'jane@example.org'],
    ['declarationId', '+1 202 555 0143'],
  ])('direct_identifier for %s that names a person', async (field, value) => {
    const { status, body } = await submit(client, { body: { [field]: value, channel: 'fax' } });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'direct_identifier' });
    expect(pointersOf(body).sort()).toEqual(['/channel', `/${field}`].sort());
    expect(JSON.stringify(body)).not.toContain(value);
  });

  test('idempotency_key_required without a key, before the faults of the body', async () => {
    const { status, body } = await post(client, 'applications', { json: submissionBody({ channel: 'fax' }) });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'idempotency_key_required' });
  });

  test.each([
    ['empty', ''],
    ['with a space', 'a b'],
    ['of 256 characters', 'k'.repeat(256)],
    ['with an umlaut', 'k\u00fc'],
  ])('idempotency_key_invalid for a key %s', async (_what, key) => {
    const { status, body } = await submit(client, { key });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'idempotency_key_invalid' });
  });

  test('idempotency_key_invalid for two keys', async () => {
    const { status, body } = await post(client, 'applications', {
      headers: { 'idempotency-key': ['a', 'b'] },
      json: submissionBody(),
    });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'idempotency_key_invalid' });
  });

  test('a key of 255 visible characters is taken', async () => {
    expect(await submit(client, { key: '!'.repeat(120) + '~'.repeat(135) })).toMatchObject({ status: 201 });
  });

  test.each(['{"programCode":', 'nonsense', '{}{}', ''])('malformed_json for %j', async (text) => {
    const { status, body } = await post(client, 'applications', {
      headers: { 'idempotency-key': 'k', 'content-type': 'application/json' },
      body: text,
    });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'malformed_json' });
  });

  test.each(['[]', '"text"', 'null', '7'])('validation_error for a body that is %s', async (text) => {
    const { status, body } = await post(client, 'applications', {
      headers: { 'idempotency-key': 'k', 'content-type': 'application/json' },
      body: text,
    });
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'validation_error' });
  });

  test('validation_error for an If-Match that is none', async () => {
    const { status, body } = await submit(client, { headers: { 'if-match': 'no-quotes' } });
    expect({ status, code: body.code, header: body.details[0].header }).toEqual({
      status: 400,
      code: 'validation_error',
      header: 'If-Match',
    });
  });

  test('answers that do not fit the schema of the program, each with its pointer', async () => {
    const answers = { householdSize: 0, monthlyIncomeCents: 'much', nickname: 'x' };
    const { status, body } = await submit(client, { body: { programCode: 'TEST-SCHEMA', answers } });
    expect({ status, code: body.code, pointers: pointersOf(body).sort() }).toEqual({
      status: 400,
      code: 'validation_error',
      pointers: ['/answers/householdSize', '/answers/monthlyIncomeCents', '/answers/nickname'],
    });
  });

  test('answers that are absent where the program needs some', async () => {
    const { status, body } = await submit(client, { body: { programCode: 'TEST-SCHEMA' } });
    expect({ status, pointers: pointersOf(body) }).toEqual({
      status: 400,
      pointers: ['/answers/householdSize', '/answers/monthlyIncomeCents'],
    });
  });
});

describe('401', () => {
  test('token_missing without a token, and the challenge names no error', async () => {
    const { statusCode, headers, body } = await got.post(`${service.baseUrl}/applications`, {
      json: {},
      throwHttpErrors: false,
      responseType: 'json',
    });
    expect(statusCode).toBe(401);
    expect(errorBody.parse(body).code).toBe('token_missing');
    expect(headers['www-authenticate']).toBe('Bearer realm="assistance"');
  });

  test('token_invalid with an expired token', async () => {
    const token = service.issuer.token({ claims: { exp: 1_000_000_000 } });
    const { status, headers, body } = await submit(
      client.extend({ headers: { authorization: `Bearer ${token}` } }),
    );
    expect({ status, code: body.code }).toEqual({ status: 401, code: 'token_invalid' });
    expect(headers['www-authenticate']).toContain('error="invalid_token"');
  });
});

test('403 insufficient_scope with a token that may only read, before its body is judged', async () => {
  const reader = clientOf(service, { scopes: ['applications:read', 'events:manage'] });
  const { status, headers, body } = await submit(reader, { body: { channel: 'fax' } });
  expect({ status, code: body.code }).toEqual({ status: 403, code: 'insufficient_scope' });
  expect(headers['www-authenticate']).toContain('scope="applications:write"');
  expect(await service.prisma.application.count({ where: { channel: 'fax' } })).toBe(0);
});

describe('409', () => {
  test('stale_version when If-Match names another version of the program', async () => {
    const { status, body } = await submit(client, { headers: { 'if-match': '"1-of-old"' } });
    expect({ status, code: body.code }).toEqual({ status: 409, code: 'stale_version' });
  });

  test('stale_version comes before the faults of the answers', async () => {
    const { body } = await submit(client, {
      headers: { 'if-match': '"1-of-old"' },
      body: { programCode: 'TEST-SCHEMA' },
    });
    expect(body.code).toBe('stale_version');
  });

  test('comes after the program: one that is unknown or closed is 422 whatever If-Match says', async () => {
    for (const programCode of ['TEST-UNKNOWN', 'TEST-CLOSED']) {
      const { status } = await submit(client, {
        body: { programCode },
        headers: { 'if-match': '"1-other"' },
      });
      expect(status).toBe(422);
    }
  });

  test('a weak tag never matches', async () => {
    const { headers } = await get(client, 'programs/TEST-PENDING');
    const { body } = await submit(client, {
      headers: { 'if-match': `W/${String(headers['etag'])}` },
      body: { programCode: 'TEST-PENDING' },
    });
    expect(body.code).toBe('stale_version');
  });

  test.each([
    ['the ETag of the program', (etag: string) => etag],
    ['*', () => '*'],
    ['a list with the ETag in it', (etag: string) => `"other", ${etag}`],
  ])('none when If-Match is %s', async (_what, headerOf) => {
    const { headers } = await get(client, 'programs/TEST-PENDING', { 'accept-language': 'es' });
    const answer = await submit(client, {
      headers: { 'if-match': headerOf(String(headers['etag'])) },
      body: { programCode: 'TEST-PENDING' },
    });
    expect(answer.status).toBe(201);
  });

  test('duplicate_application for a second open one, named only to the owner of the first', async () => {
    const body = { programCode: 'TEST-ONE-OPEN', applicantRef: 'one-open-1' };
    const first = await submit(client, { body });
    const second = await submit(client, { body });
    const stranger = await submit(clientOf(service, { clientId: 'other-partner' }), { body });
    expect(first.status).toBe(201);
    for (const refused of [second, stranger]) {
      expect({ status: refused.status, code: refused.body.code }).toEqual({
        status: 409,
        code: 'duplicate_application',
      });
    }
    expect(second.body.message).toContain(first.body.applicationId);
    expect(JSON.stringify(stranger.body)).not.toContain('app_');
  });

  test('none for another applicant, and none once the first is withdrawn', async () => {
    const body = { programCode: 'TEST-ONE-OPEN', applicantRef: 'one-open-2' };
    const first = await submit(client, { body });
    expect((await submit(client, { body: { ...body, applicantRef: 'one-open-3' } })).status).toBe(201);
    await post(client, `applications/${first.body.applicationId}/withdraw`);
    expect((await submit(client, { body })).status).toBe(201);
  });

  test('of 20 at once for one applicant, one is taken', async () => {
    const body = { programCode: 'TEST-ONE-OPEN', applicantRef: 'one-open-4' };
    const answers = await Promise.all(Array.from({ length: 20 }, () => submit(client, { body })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'duplicate_application')).toHaveLength(19);
  });
});

describe('422', () => {
  test.each([
    ['program_unknown', 'TEST-UNKNOWN'],
    ['program_not_open', 'TEST-CLOSED'],
  ])('%s for %s, before the faults of the answers', async (code, programCode) => {
    const { status, body } = await submit(client, { body: { programCode }, headers: { 'if-match': '"x"' } });
    expect({ status, code: body.code }).toEqual({ status: 422, code });
  });
});

test('413 for a body of more than 256 KiB', async () => {
  const { status, body } = await submit(client, { body: { answers: { long: 'x'.repeat(256 * 1024) } } });
  expect({ status, code: body.code }).toEqual({ status: 413, code: 'payload_too_large' });
});

test('415 for a body that is not said to be JSON', async () => {
  const { status, body } = await post(client, 'applications', {
    headers: { 'idempotency-key': 'k', 'content-type': 'text/plain' },
    body: '{}',
  });
  expect({ status, code: body.code }).toEqual({ status: 415, code: 'unsupported_media_type' });
});

test('405 names the methods that there are', async () => {
  const { statusCode, headers, body } = await client.put('applications', { json: {} });
  expect({ statusCode, allow: headers.allow, code: (body as any).code }).toEqual({
    statusCode: 405,
    allow: 'GET, HEAD, POST',
    code: 'method_not_allowed',
  });
});

test('every error has its request id in body and header', async () => {
  const { headers, body } = await submit(client, { body: { channel: 'fax' } });
  expect(errorBody.parse(body).requestId).toBe(headers['x-request-id']);
});

test('APPLICANT_REF_PATTERN rules in place of what is usual', async () => {
  const own = await startService({
    decide: false,
    overrides: () => ({ applicantRefPattern: /^(?:\d{9})$/u }),
  });
  try {
    const caller = clientOf(own);
    expect((await submit(caller, { body: { applicantRef: '123456789' } })).status).toBe(201);
    const refused = await submit(caller, { body: { applicantRef: 'ref-1' } });
    expect({ status: refused.status, code: refused.body.code, pointers: pointersOf(refused.body) }).toEqual({
      status: 400,
      code: 'validation_error',
      pointers: ['/applicantRef'],
    });
  } finally {
    await own.stop();
  }
});
