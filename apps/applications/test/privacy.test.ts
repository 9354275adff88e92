import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createKeyRing } from '@assistance/service-kit';
import type { Got } from 'got';
import { openAnswers, sealAnswers } from '../src/submission/seal-answers.ts';
import { clientOf, keyRingConfig, startService, type Service } from './support/start-service.ts';
import { get, submit } from './support/submission.ts';

let service: Service;
let client: Got;
beforeAll(async () => {
  service = await startService({ decide: false });
  client = clientOf(service);
});
afterAll(() => service.stop());

describe('answers', () => {
  test('lie in no column of any table in the clear, and come back in no response', async () => {
    const marker = 'Maria-Planted-4711';
    const { body, headers } = await submit(client, { body: { answers: { fullName: marker } } });
    await service.decideOnce();
    const { applicationId } = body;
    const responses = [body, headers];
    for (const suffix of ['', '/status', '/history']) {
      responses.push((await get(client, `applications/${applicationId}${suffix}`)).body);
    }
    expect(JSON.stringify(responses)).not.toContain(marker);
    expect(JSON.stringify(responses)).not.toContain('fullName');
    const tables = await service.prisma.$queryRawUnsafe<{ name: string }[]>(
      `select table_name as name from information_schema.tables where table_schema = 'public'`,
    );
    expect(tables.length).toBeGreaterThan(5);
    for (const { name } of tables) {
      const [row] = await service.prisma.$queryRawUnsafe<{ found: number }[]>(
        `select count(*)::int as found from "${name}" t
         where position($1 in t::text) > 0 or position(encode($1::bytea, 'hex') in t::text) > 0`,
        marker,
      );
      expect({ name, found: row?.found }).toEqual({ name, found: 0 });
    }
  });

  test('each application has a data key of its own, wrapped by the key ring', async () => {
    const rows = await Promise.all([1, 1].map(() => submit(client, { body: { answers: { a: 1 } } })));
    const [one, two] = await service.prisma.application.findMany({
      where: { applicationId: { in: rows.map(({ body }) => body.applicationId) } },
    });
    const ring = createKeyRing(keyRingConfig);
    expect(ring.keyIdOf(one!.dataKey!)).toBe('k1');
    expect(one!.dataKey).not.toBe(two!.dataKey);
    expect(one!.answers).not.toEqual(two!.answers);
    const { applicationId, dataKey, answers } = one!;
    expect(openAnswers(ring, applicationId, { dataKey: dataKey!, answers: answers! })).toEqual({ a: 1 });
  });

  test('open with a ring whose current key is another, as long as the old one is in it', () => {
    const next = createKeyRing({
      current: 'k2',
      keys: { ...keyRingConfig.keys, k2: Buffer.alloc(32, 2).toString('base64') },
    });
    const sealed = sealAnswers(createKeyRing(keyRingConfig), 'app_1', { a: 1 });
    expect(openAnswers(next, 'app_1', sealed)).toEqual({ a: 1 });
  });

  test('do not open when they were put to another application, or a bit was changed', () => {
    const ring = createKeyRing(keyRingConfig);
    const sealed = sealAnswers(ring, 'app_1', { a: 1 });
    expect(() => openAnswers(ring, 'app_2', sealed)).toThrow();
    const changed = Uint8Array.from(sealed.answers, (byte, n) => (n === 20 ? byte ^ 1 : byte));
    expect(() => openAnswers(ring, 'app_1', { ...sealed, answers: changed })).toThrow();
  });

  test('that are absent leave nothing to open', async () => {
    const { body } = await submit(client);
    const row = await service.prisma.application.findUniqueOrThrow({
      where: { applicationId: body.applicationId },
    });
    expect([row.dataKey, row.answers]).toEqual([null, null]);
  });
});

describe('the audit', () => {
  test.each([
    ['audit', "update audit set actor = 'x'"],
    ['audit', 'delete from audit'],
    ['audit', 'truncate audit'],
    ['audit_seal', "update audit_seal set seal = ''"],
    ['audit_seal', 'delete from audit_seal'],
    ['audit_seal', 'truncate audit_seal'],
  ])('%s is not changed by its own owner: %s', async (table, statement) => {
    await submit(client);
    await service.prisma.$executeRawUnsafe(`insert into audit_seal select max(id), '' from audit`);
    const count = (): Promise<unknown> =>
      service.prisma.$queryRawUnsafe(`select count(*)::int as rows from ${table}`);
    const before = await count();
    await expect(service.prisma.$executeRawUnsafe(statement)).rejects.toThrow(/never changed/);
    expect(await count()).toEqual(before);
  });

  test('names nobody: neither the applicant nor the answers', async () => {
    const { body } = await submit(client, {
      body: { applicantRef: 'planted-ref', declarationId: 'planted-dec', answers: { a: 'planted-answer' } },
    });
    await service.decideOnce();
    const rows = await service.prisma.audit.findMany({ where: { applicationId: body.applicationId } });
    expect(rows.length).toBeGreaterThanOrEqual(3);
    expect(
      JSON.stringify(rows, (_key, value) => (typeof value === 'bigint' ? String(value) : value)),
    ).not.toContain('planted');
  });
});
