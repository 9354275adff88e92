import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { program, programDetail, programList } from '@assistance/types';
import type { Got } from 'got';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { get } from './support/submission.ts';

let service: Service;
let client: Got;
beforeAll(async () => {
  service = await startService({ decide: false });
  client = clientOf(service);
});
afterAll(() => service.stop());

const codesOf = (body: any): string[] => body.data.map((each: any) => each.code);

describe('GET /programs', () => {
  test('lists what is open or announced, by code, and nothing that is closed or made from a template', async () => {
    const { status, body } = await get(client, 'programs');
    expect(status).toBe(200);
    expect(programList.strict().parse(body)).toBeDefined();
    for (const each of body.data) expect(program.strict().parse(each)).toEqual(each);
    expect(codesOf(body)).toEqual([...codesOf(body)].sort());
    expect(codesOf(body)).toEqual(expect.arrayContaining(['TEST-SCHEMA', 'TEST-ONE-OPEN']));
    expect(codesOf(body)).not.toContain('TEST-CLOSED');
    expect(codesOf(body)).not.toContain('ANY-PROGRAM');
  });

  test('pages through all of them', async () => {
    const all = codesOf((await get(client, 'programs')).body);
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body }: { body: any } = await get(client, `programs?limit=3${cursor && `&cursor=${cursor}`}`);
      seen.push(...codesOf(body));
      cursor = body.page.nextCursor;
    }
    expect(seen).toEqual(all);
  });

  test('speaks the language of the caller', async () => {
    const { headers, body } = await get(client, 'programs', { 'accept-language': 'es' });
    expect(headers['content-language']).toBe('es');
    expect(body.data.find((each: any) => each.code === 'TEST-SCHEMA').name).toBe('Prueba: respuestas');
  });

  test.each(['limit=0', 'code=X', 'cursor=x'])('400 for ?%s', async (query) => {
    expect((await get(client, `programs?${query}`)).status).toBe(400);
  });
});

describe('GET /programs/{code}', () => {
  test('adds the schema of answers and a strong ETag, one for each language', async () => {
    const { status, headers, body } = await get(client, 'programs/TEST-SCHEMA');
    const spanish = await get(client, 'programs/TEST-SCHEMA', { 'accept-language': 'es' });
    expect(status).toBe(200);
    expect(programDetail.strict().parse(body)).toEqual(body);
    expect(body.answersSchema.required).toEqual(['householdSize', 'monthlyIncomeCents']);
    expect(body.permittedWithdrawal).toEqual(['submitted', 'validating', 'eligible']);
    expect(headers['etag']).toMatch(/^"[^"]+"$/);
    expect(spanish.headers['etag']).not.toBe(headers['etag']);
  });

  test('a closed program can be read, and so can any code of the template', async () => {
    expect((await get(client, 'programs/TEST-CLOSED')).body.effectiveTo).toBe('2021-01-01T00:00:00.000Z');
    expect((await get(client, 'programs/Any.Program_1')).body).toMatchObject({
      code: 'Any.Program_1',
      links: [{ rel: 'self', href: '/applications/v1/programs/Any.Program_1' }],
    });
  });

  test.each(['TEST-UNKNOWN', 'a%20b', '-x', 'x'.repeat(65), '__proto__', 'constructor%00'])(
    '404 for %s',
    async (code) => {
      const { status, body } = await get(client, `programs/${code}`);
      expect({ status, code: body.code }).toEqual({ status: 404, code: 'not_found' });
    },
  );
});

test.each(['programs', 'programs/TEST-SCHEMA'])('%s needs the scope applications:read', async (path) => {
  const writer = clientOf(service, { scopes: ['applications:write'] });
  expect((await get(writer, path)).status).toBe(403);
  expect((await get(client.extend({ headers: { authorization: undefined } }), path)).status).toBe(401);
});
