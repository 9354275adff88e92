import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createMetrics, type Sql } from '@assistance/service-kit';
import { runCommand, staySilent, waitUntil } from '@assistance/test-kit';
import { createAuditMetrics } from '../src/audit/audit-metrics.ts';
import { AuditSealer } from '../src/audit/audit-sealer.ts';
import { checkAudit, type AuditCheck } from '../src/audit/check-audit.ts';
import { settledId } from '../src/audit/settled-audit.ts';
import type { PrismaClient } from '../src/generated/prisma/client.ts';
import { openDatabase } from '../src/open-database.ts';
import { clientOf, startService, type Service } from './support/start-service.ts';
import { submitted } from './support/submission.ts';

const DEADLINE = { timeoutMs: 30_000 };
const appFolder = fileURLToPath(new URL('..', import.meta.url));

let service: Service;
let prisma: PrismaClient;
/** May put triggers out of action. */
let superuser: PrismaClient;
const sealers: AuditSealer[] = [];

beforeAll(async () => {
  service = await startService({ decide: false });
  prisma = service.prisma;
  const url = new URL(service.databaseUrl);
  const { username, password } = new URL(process.env['TEST_POSTGRES_URL'] ?? '');
  Object.assign(url, { username, password });
  superuser = openDatabase({ url: url.toString(), poolSize: 2 });
  await superuser.$connect();
});
afterEach(async () => {
  await Promise.all(sealers.splice(0).map((sealer) => sealer.stop()));
});
afterAll(async () => {
  await superuser.$disconnect();
  await service.stop();
});

function startSealer(sql: Sql = prisma) {
  const metrics = createAuditMetrics(createMetrics('applications').registry);
  const sealer = new AuditSealer({ sql, metrics, log: service.deps.log });
  sealers.push(sealer);
  sealer.start();
  return { sealer, metrics };
}

const numberOf = async (what: string): Promise<number> =>
  Number((await prisma.$queryRawUnsafe<{ n: bigint }[]>(`select (select ${what}) as n`))[0]?.n);
const untilAllSealed = () => waitUntil(async () => (await checkAudit(prisma)).unsealed === 0, DEADLINE);
const note = (sql: Sql, text: string) =>
  sql.$executeRawUnsafe(`insert into audit (actor, action, detail) values ('test', $1, '{}')`, text);
const idOf = async (action: string): Promise<bigint> =>
  (await prisma.audit.findFirstOrThrow({ where: { action } })).id;

/** Counts the looks that a sealer takes. */
function countLooks(): { sql: Sql; untilLooked: (times: number) => Promise<unknown> } {
  let looks = 0;
  return {
    sql: {
      $executeRawUnsafe: (text, ...values) => prisma.$executeRawUnsafe(text, ...values),
      $queryRawUnsafe: <T>(text: string, ...values: unknown[]) => {
        if (text.includes('pg_locks')) looks += 1;
        return prisma.$queryRawUnsafe<T>(text, ...values);
      },
    },
    untilLooked: (times) => {
      const wanted = looks + times;
      return waitUntil(() => looks >= wanted, DEADLINE);
    },
  };
}

describe('what is settled', () => {
  const earlier = { newestId: 5n, writers: ['3/1', '3/2'] };
  test.each([
    ['nobody writes: all that is seen', undefined, [], 9n],
    ['somebody writes, and nothing is known of before: nothing yet', undefined, ['3/3'], undefined],
    ['one of those that wrote then still does: nothing yet', earlier, ['3/2', '3/3'], undefined],
    ['all that wrote then have ended: what was seen then', earlier, ['3/3'], 5n],
  ])('%s', (_claim, before, writers, expected) => {
    expect(settledId(before, { newestId: 9n, writers })).toBe(expected);
  });
});

describe('the sealer', () => {
  test('seals all that was committed, once, beside another sealer and under load', async () => {
    const { metrics } = startSealer();
    const { metrics: others } = startSealer();
    const client = clientOf(service);
    await Promise.all(Array.from({ length: 40 }, () => submitted(client)));
    while (await service.decideOnce());
    await untilAllSealed();
    const check = await checkAudit(prisma);
    expect(check).toMatchObject({ broken: undefined, sealed: await numberOf('count(*) from audit') });
    const counts = await Promise.all(
      [metrics, others].map(async ({ sealed }) => (await sealed.get()).values),
    );
    expect(counts.flat().reduce((sum, { value }) => sum + value, 0)).toBe(check.sealed);
  });

  test('seals nothing above a row that is still to be committed, and then all of it in order', async () => {
    const { sql, untilLooked } = countLooks();
    const { metrics } = startSealer(sql);
    await untilAllSealed();
    const sealedBefore = await numberOf('max(audit_id) from audit_seal');
    await prisma.$transaction(
      async (late) => {
        await staySilent(late);
        await note(late, 'late');
        await note(prisma, 'early');
        await untilLooked(3);
        expect(await numberOf('max(audit_id) from audit_seal')).toBe(sealedBefore);
        expect((await metrics.unsealedSeconds.get()).values[0]?.value).toBeGreaterThan(0);
      },
      { timeout: 60_000 },
    );
    await untilAllSealed();
    expect(await idOf('late')).toBeLessThan(await idOf('early'));
    expect(await checkAudit(prisma)).toMatchObject({ broken: undefined, unsealed: 0 });
  });

  test('passes over the id of a row that was rolled back', async () => {
    startSealer();
    const rolledBack = prisma.$transaction(async (late) => {
      await note(late, 'rolled back');
      await note(prisma, 'after a gap');
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    await untilAllSealed();
    expect((await checkAudit(prisma)).last?.id).toBe(await idOf('after a gap'));
  });

  test('writes nothing once its lease is another’s, however late it wakes up', async () => {
    const { promise: refused, resolve } = Promise.withResolvers<number>();
    startSealer({
      $queryRawUnsafe: <T>(text: string, ...values: unknown[]) => prisma.$queryRawUnsafe<T>(text, ...values),
      $executeRawUnsafe: async (text, ...values) => {
        if (!text.includes('insert into audit_seal')) return prisma.$executeRawUnsafe(text, ...values);
        await prisma.$executeRawUnsafe(
          `update audit_seal_lease set owner = gen_random_uuid(), epoch = epoch + 1, until = clock_timestamp() + interval '2 s'`,
        );
        const count = await prisma.$executeRawUnsafe(text, ...values);
        resolve(count);
        return count;
      },
    });
    const before = await numberOf('count(*) from audit_seal');
    await note(prisma, 'for a sealer that was frozen');
    expect(await refused).toBe(0);
    expect(await numberOf('count(*) from audit_seal')).toBe(before);
  });
});

describe('the check', () => {
  let ids: bigint[];
  beforeAll(async () => {
    const { sealer } = startSealer();
    for (const action of ['one', 'two', 'three', 'four']) await note(prisma, action);
    await untilAllSealed();
    await sealer.stop();
    ids = await Promise.all(['one', 'two', 'three', 'four'].map(idOf));
  });

  /** What the check says after a superuser did this; undone at once. */
  async function checkAfter(change: string, kept?: Parameters<typeof checkAudit>[1]): Promise<AuditCheck> {
    let check: AuditCheck | undefined;
    const undone = superuser.$transaction(async (transaction) => {
      await transaction.$executeRawUnsafe(`set local session_replication_role = replica`);
      expect(await transaction.$executeRawUnsafe(change, ids[1])).toBeGreaterThan(0);
      check = await checkAudit(transaction, kept);
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    return check!;
  }

  test.each([
    [
      'one byte of its action changed',
      `update audit set action = 'twO' where id = $1`,
      'row_or_seal_changed',
    ],
    ['a millisecond', `update audit set at = at + interval '1 ms' where id = $1`, 'row_or_seal_changed'],
    ['its detail', `update audit set detail = '{"a":1}' where id = $1`, 'row_or_seal_changed'],
    ['its actor', `update audit set actor = 'tesT' where id = $1`, 'row_or_seal_changed'],
    ['an id that it did not have', `update audit set request_id = '' where id = $1`, 'row_or_seal_changed'],
    ['the row deleted', `delete from audit where id = $1`, 'row_missing'],
    [
      'one bit of its seal',
      `update audit_seal set seal = set_bit(seal, 9, 1 - get_bit(seal, 9)) where audit_id = $1`,
      'row_or_seal_changed',
    ],
    ['its seal deleted', `delete from audit_seal where audit_id = $1`, 'seal_missing'],
  ])('names the row: %s', async (_change, statement, why) => {
    expect((await checkAfter(statement)).broken).toEqual({ id: ids[1], why });
  });

  test('names the row after one that was deleted together with its seal', async () => {
    const statement = `with gone as (delete from audit where id = $1 returning id)
      delete from audit_seal using gone where audit_id = gone.id`;
    expect((await checkAfter(statement)).broken).toEqual({ id: ids[2], why: 'row_or_seal_changed' });
  });

  test('names a row that was put in where it never was', async () => {
    await prisma
      .$transaction(async (late) => {
        await note(late, 'given up');
        throw new Error('given up');
      })
      .catch(() => undefined);
    const { sealer } = startSealer();
    await note(prisma, 'after the gap');
    await untilAllSealed();
    await sealer.stop();
    const gap = (await idOf('after the gap')) - 1n;
    const check = await checkAfter(
      `insert into audit (id, actor, action, detail) overriding system value select ${gap}, 'test', 'never', '{}' where $1::bigint > 0`,
    );
    expect(check.broken).toEqual({ id: gap, why: 'seal_missing' });
  });

  test('finds an end that was cut off, and a chain that was made anew, by a seal kept elsewhere', async () => {
    const { last } = await checkAudit(prisma);
    const cut = `with gone as (delete from audit where id > $1 returning id)
      delete from audit_seal using gone where audit_id = gone.id`;
    expect((await checkAfter(cut)).broken).toBeUndefined();
    expect((await checkAfter(cut, last)).broken).toEqual({ id: last!.id, why: 'row_missing' });
    const other = { id: ids[0]!, seal: '0'.repeat(64) };
    expect((await checkAudit(prisma, other)).broken).toEqual({ id: ids[0], why: 'kept_seal_differs' });
  });

  test('as a command: what holds, what waits, and 1 with the row where it does not hold', async () => {
    await note(prisma, 'waits');
    const { sealed, last } = await checkAudit(prisma);
    const [good, bad] = await Promise.all([runVerify(), runVerify(`${last!.id}:${'f'.repeat(64)}`)]);
    expect(good).toMatchObject({ code: 0 });
    expect(good.output).toContain(
      `${sealed} rows hold, the last of them with the seal ${last!.id}:${last!.seal}.`,
    );
    expect(good.output).toMatch(/1 rows wait for their seal, the oldest for \d+\.\d s\./);
    expect(bad).toMatchObject({ code: 1 });
    expect(bad.output).toContain(`Row ${last!.id} of the audit has another seal`);
  });
});

const runVerify = (...args: string[]) =>
  runCommand({
    folder: appFolder,
    command: ['verify-audit', ...args],
    environment: { DATABASE_URL: service.databaseUrl },
  });
