import { createSecretKey, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createDatabaseAdapter } from '@assistance/service-kit';
import { staySilent, waitUntil } from '@assistance/test-kit';
import type { Got } from 'got';
import { PrismaClient } from '../src/generated/prisma/client.ts';
import { loadPrograms } from '../src/programs/load-programs.ts';
import { clientOf, programsFolder, startService, type Service } from './support/start-service.ts';
import { get, post, submit, untilStatus, type JsonAnswer } from './support/submission.ts';

let service: Service;
let client: Got;
beforeAll(async () => {
  service = await startService();
  client = clientOf(service);
});
const opened: PrismaClient[] = [];
afterAll(async () => {
  await Promise.all(opened.map((prisma) => prisma.$disconnect()));
  await service.stop();
});

const countOf = (key: string): Promise<number> =>
  service.prisma.application.count({ where: { idempotencyKey: key } });

const withoutRequest = ({ status, headers, body }: JsonAnswer) => ({
  status,
  body,
  location: headers['location'],
});

describe('a repeat', () => {
  test('gets the first answer again, and says that it is one', async () => {
    const key = randomUUID();
    const body = { applicantRef: 'ref-1', declarationId: 'dec-1', answers: { b: 1, a: [null, 2.5] } };
    const first = await submit(client, { key, body });
    const again = await submit(client, { key, body });
    expect(withoutRequest(again)).toEqual(withoutRequest(first));
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    expect(await countOf(key)).toBe(1);
  });

  test('is answered as first, however the application has gone on', async () => {
    const key = randomUUID();
    const body = { applicantRef: 'ref-1' };
    const first = await submit(client, { key, body });
    await untilStatus(client, first.body.applicationId, 'eligible');
    const again = await submit(client, { key, body });
    expect(again.body).toEqual(first.body);
    expect(again.body.status).toBe('submitted');
  });

  test('is the same with its fields in another order, and with null for what was absent', async () => {
    const key = randomUUID();
    const first = await submit(client, { key, body: { applicantRef: 'ref-1', answers: { a: 1, b: 2 } } });
    const again = await post(client, 'applications', {
      headers: { 'idempotency-key': key, 'content-type': 'application/json' },
      body: '{"answers":{"b":2.0,"a":1e0},"declarationId":null,"applicantRef":"ref-1","channel":"web","programCode":"ANY-PROGRAM"}',
    });
    expect(again.body).toEqual(first.body);
  });

  test('survives a change of the rules: the program has closed, its version has gone', async () => {
    const key = randomUUID();
    const body = { programCode: 'TEST-PENDING', applicantRef: 'ref-1' };
    const first = await submit(client, { key, body });
    const later = await service.startInstance({ programs: await loadPrograms(programsFolder, []) });
    const caller = clientOf({ ...service, baseUrl: later.baseUrl });
    const again = await submit(caller, { key, body, headers: { 'if-match': '"gone"' } });
    expect(withoutRequest(again)).toEqual(withoutRequest(first));
    expect((await submit(caller, { body })).body.code).toBe('program_unknown');
  });

  test('of a submission that is refused as a duplicate by now is none: it gets its 201', async () => {
    const key = randomUUID();
    const body = { programCode: 'TEST-ONE-OPEN', applicantRef: randomUUID() };
    const first = await submit(client, { key, body });
    expect(withoutRequest(await submit(client, { key, body }))).toEqual(withoutRequest(first));
  });

  test('with an ill-shaped body is 400, also under a known key', async () => {
    const key = randomUUID();
    await submit(client, { key });
    const again = await submit(client, { key, body: { channel: 'fax' } });
    expect({ status: again.status, code: again.body.code }).toEqual({
      status: 400,
      code: 'validation_error',
    });
  });
});

describe('409 idempotency_key_reused', () => {
  test.each([
    ['another applicant', { applicantRef: 'ref-2' }],
    ['other answers', { answers: { a: 2 } }],
    ['no answers', { answers: undefined }],
    ['another channel', { channel: 'mobile' }],
    ['another declaration', { declarationId: 'decl-2' }],
    ['a program that is closed', { programCode: 'TEST-CLOSED' }],
    ['answers that do not fit the program', { programCode: 'TEST-SCHEMA' }],
  ])('for the same key with %s', async (_what, changes) => {
    const key = randomUUID();
    const body = { applicantRef: 'ref-1', answers: { a: 1 } };
    const first = await submit(client, { key, body });
    const other = await submit(client, { key, body: { ...body, ...changes } });
    expect(first.status).toBe(201);
    expect({ status: other.status, code: other.body.code }).toEqual({
      status: 409,
      code: 'idempotency_key_reused',
    });
    expect(await countOf(key)).toBe(1);
  });
});

test('the keys of two clients have nothing to do with each other', async () => {
  const key = randomUUID();
  const mine = await submit(client, { key });
  const theirs = await submit(clientOf(service, { clientId: 'other-partner' }), { key });
  expect([mine.status, theirs.status]).toEqual([201, 201]);
  expect(theirs.body.applicationId).not.toBe(mine.body.applicationId);
});

test('a refused attempt does not use up its key', async () => {
  const key = randomUUID();
  expect((await submit(client, { key, body: { programCode: 'TEST-CLOSED' } })).status).toBe(422);
  expect((await submit(client, { key })).status).toBe(201);
});

test('50 identical submissions at once make one application and get 50 equal answers', async () => {
  const key = randomUUID();
  const body = { applicantRef: 'ref-1', answers: { a: 1 } };
  const answers = await Promise.all(Array.from({ length: 50 }, () => submit(client, { key, body })));
  expect(new Set(answers.map((answer) => JSON.stringify(withoutRequest(answer)))).size).toBe(1);
  expect(answers[0]?.status).toBe(201);
  expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === 'true')).toHaveLength(49);
  expect(await countOf(key)).toBe(1);
});

test('50 at once over two instances, too, also where one open application is allowed', async () => {
  const second = await service.startInstance();
  const clients = [client, clientOf({ ...service, baseUrl: second.baseUrl })];
  for (const programCode of ['ANY-PROGRAM', 'TEST-ONE-OPEN']) {
    const key = randomUUID();
    const body = { programCode, applicantRef: randomUUID() };
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => submit(clients[n % 2] as Got, { key, body })),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(withoutRequest(answer)))).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    expect(await countOf(key)).toBe(1);
    const { applicationId } = answers[0]!.body;
    expect(
      await service.prisma.applicationHistory.count({ where: { applicationId, status: 'submitted' } }),
    ).toBe(1);
    expect(
      await service.prisma.audit.count({ where: { applicationId, action: 'application.submitted' } }),
    ).toBe(1);
  }
});

test('of two bodies under one key at once, one is taken and the other is 409', async () => {
  const key = randomUUID();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => submit(client, { key, body: { applicantRef: `ref-${n % 2}` } })),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
  expect(answers.filter(({ body }) => body.code === 'idempotency_key_reused')).toHaveLength(10);
  expect(await countOf(key)).toBe(1);
});

describe('while another transaction holds the key', () => {
  /** Inserts an application with the key and keeps its transaction open until told. */
  async function holdKey(key: string) {
    const holder = await submit(client, { key: randomUUID() });
    let release = (_commit: boolean): void => undefined;
    const decided = new Promise<boolean>((resolve) => (release = resolve));
    let inserted = (): void => undefined;
    const isInserted = new Promise<void>((resolve) => (inserted = resolve));
    const held = service.prisma
      .$transaction(
        async (transaction) => {
          await staySilent(transaction);
          await transaction.$executeRawUnsafe(
            `insert into application (application_id, owner, idempotency_key, fingerprint, fingerprint_key_id, program_code,
               program_version, program_digest, channel, applicant_ref, submitted_at, status)
             select 'app_held' || $2, owner, $2, fingerprint, fingerprint_key_id, program_code, program_version,
               program_digest, channel, applicant_ref, submitted_at, status
             from application where application_id = $1`,
            holder.body.applicationId,
            key,
          );
          inserted();
          if (!(await decided)) throw new Error('rolled back');
        },
        { timeout: 20_000 },
      )
      .catch(() => undefined);
    await isInserted;
    return { held, commit: () => release(true), rollBack: () => release(false) };
  }

  /** An instance whose statements wait only shortly for a lock. */
  const impatientClient = async (lockTimeoutMs: number): Promise<Got> => {
    const prisma = new PrismaClient({
      adapter: createDatabaseAdapter({
        url: service.databaseUrl,
        poolSize: 2,
        applicationName: 'impatient',
        lockTimeoutMs,
      }),
    });
    opened.push(prisma);
    await prisma.$connect();
    const instance = await service.startInstance({ sql: prisma });
    return clientOf({ ...service, baseUrl: instance.baseUrl });
  };

  test('409 idempotency_request_in_progress with Retry-After, when that takes too long', async () => {
    const key = randomUUID();
    const holder = await holdKey(key);
    const { status, headers, body } = await submit(await impatientClient(200), { key });
    holder.rollBack();
    await holder.held;
    expect({ status, code: body.code, retryAfter: headers['retry-after'] }).toEqual({
      status: 409,
      code: 'idempotency_request_in_progress',
      retryAfter: '1',
    });
  });

  test('a request waits, and is taken when the other rolls back', async () => {
    const key = randomUUID();
    const holder = await holdKey(key);
    const waiting = submit(client, { key });
    await untilSomeoneWaits();
    holder.rollBack();
    expect((await waiting).status).toBe(201);
    await holder.held;
  });

  test('those that wait hold one connection, so that others are served', async () => {
    const key = randomUUID();
    const holder = await holdKey(key);
    const body = { applicantRef: 'ref-1' };
    const waiting = Array.from({ length: 30 }, () => submit(client, { key, body }));
    await untilSomeoneWaits();
    const startedAt = performance.now();
    expect((await get(client, 'applications?limit=1')).status).toBe(200);
    expect((await submit(client)).status).toBe(201);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    holder.rollBack();
    for (const { status } of await Promise.all(waiting)) expect(status).toBe(201);
    expect(await countOf(key)).toBe(1);
    await holder.held;
  });

  const untilSomeoneWaits = () =>
    waitUntil(async () => {
      const [row] = await service.prisma.$queryRawUnsafe<{ waiting: number }[]>(
        `select count(*)::int as waiting from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return (row?.waiting ?? 0) > 0;
    });
});

test('a key of the fingerprint that was replaced still recognizes its repeats', async () => {
  const key = randomUUID();
  const body = { applicantRef: 'ref-1' };
  const first = await submit(client, { key, body });
  const { id, key: old } = service.deps.fingerprintKeys;
  const later = await service.startInstance({
    fingerprintKeys: { id: 'i2', key: createSecretKey(Buffer.alloc(32, 2)), previous: { [id]: old } },
  });
  const again = await submit(clientOf({ ...service, baseUrl: later.baseUrl }), { key, body });
  expect(withoutRequest(again)).toEqual(withoutRequest(first));
});
