import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { topics } from '@assistance/types';
import {
  connectKafka,
  createDatabaseAdapter,
  createLogger,
  migrate,
  provisionTopics,
  RecordPublisher,
} from '@assistance/service-kit';
import {
  createTestDatabase,
  createTestIssuer,
  runCommand,
  testKafka,
  waitUntil,
  type TestDatabase,
  type TestIssuer,
} from '@assistance/test-kit';
import got from 'got';
import { PrismaClient } from '../src/generated/prisma/client.ts';
import { determined, opened } from './support/case-record.ts';
import { clientOf } from './support/start-service.ts';
import { get, submit, submitted, untilStatus } from './support/submission.ts';

const appFolder = fileURLToPath(new URL('..', import.meta.url));
const log = createLogger({ service: 'test', level: 'silent' });
const key = () => randomBytes(32).toString('base64');

function run(script: string, env: Record<string, string>): { child: ChildProcess; output: () => string } {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, ['--conditions=source', `src/${script}.ts`], {
    cwd: appFolder,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)));
  return { child, output: () => output };
}

async function runToEnd(script: string, env: Record<string, string>) {
  const { child, output } = run(script, env);
  const [code] = (await once(child, 'close')) as [number];
  return { code, output: output() };
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return String(port);
}

describe('the service as it runs', () => {
  const { brokers, topicPrefix } = testKafka();
  let database: TestDatabase;
  let issuer: TestIssuer;
  let consumer: ReturnType<ReturnType<typeof connectKafka>['consumer']>;
  let publisher: RecordPublisher;
  let env: Record<string, string>;
  let service: ReturnType<typeof run>;
  const published: { topic: string; key: string; event: any }[] = [];

  const start = async (): Promise<void> => {
    service = run('main', env);
    await waitUntil(
      async () =>
        (await got(`http://127.0.0.1:${env['OPS_PORT']}/readyz`, { retry: { limit: 0 } })).statusCode === 200,
      { timeoutMs: 20_000, intervalMs: 50 },
    ).catch((error: unknown) => {
      throw new Error(`not ready: ${service.output()}`, { cause: error });
    });
  };

  beforeAll(async () => {
    issuer = await createTestIssuer();
    database = await createTestDatabase({
      template: 'applications',
      migrate: (url) => migrate(url, `${appFolder}/prisma/migrations`),
    });
    const kafka = connectKafka({ brokers, clientId: 'test', log });
    await provisionTopics({
      kafka,
      topics: Object.values(topics),
      topicPrefix,
      partitions: 2,
      replicationFactor: 1,
    });
    env = {
      HTTP_PORT: await freePort(),
      OPS_PORT: await freePort(),
      DATABASE_URL: database.url,
      KAFKA_BROKERS: brokers.join(','),
      KAFKA_TOPIC_PREFIX: topicPrefix,
      TOKEN_AUDIENCE: issuer.audience,
      TOKEN_ISSUERS: JSON.stringify([{ issuer: issuer.issuer, jwksUri: issuer.jwksUri }]),
      KEY_RING: JSON.stringify({ current: 'k1', keys: { k1: key() } }),
      CURSOR_KEY: key(),
      IDEMPOTENCY_KEY: JSON.stringify({ id: 'i1', key: key() }),
      PROGRAM_SETS: 'agency,sandbox',
    };
    publisher = new RecordPublisher({ kafka, topicPrefix, log });
    publisher.start();
    consumer = kafka.consumer({ groupId: `${topicPrefix}test` });
    await consumer.connect();
    const heard = [topics.intake, topics.applicationDecided, topics.applicationsDeadLetters];
    await consumer.subscribe({ topics: heard.map(({ name }) => topicPrefix + name), fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ topic, message }) => {
        const text = String(message.value);
        const event = text.startsWith('{') ? JSON.parse(text) : text;
        published.push({ topic: topic.slice(topicPrefix.length), key: String(message.key), event });
      },
    });
    await start();
  }, 60_000);

  afterAll(async () => {
    service.child.kill('SIGKILL');
    await Promise.all([consumer.disconnect(), publisher.stop(), issuer.close()]);
    await database.drop();
  });

  const client = () => clientOf({ baseUrl: `http://127.0.0.1:${env['HTTP_PORT']}/applications/v1`, issuer });
  const heardOf = (applicationId: string) =>
    published
      .filter((each) => each.key === applicationId)
      .map(({ topic, event }) =>
        topic === topics.intake.name ? `intake ${event.data.kind}` : `decided ${event.data.decision}`,
      );

  test('an application goes over Kafka to case management and back, and each decision is told', async () => {
    const applicationId = await submitted(client());
    await waitUntil(() => heardOf(applicationId).length === 2, { timeoutMs: 10_000 });
    expect(heardOf(applicationId).sort()).toEqual(['decided eligible', 'intake eligible']);
    await publisher.publish([opened(applicationId), determined(applicationId, 'awarded')].map(outgoing));
    await untilStatus(client(), applicationId, 'awarded');
    await waitUntil(() => heardOf(applicationId).includes('decided awarded'), { timeoutMs: 10_000 });
  });

  test('a submission wakes the deciding loop, which without that looks twice a second', async () => {
    const waitedMs: number[] = [];
    for (let n = 0; n < 7; n++) {
      const applicationId = await submitted(client());
      await untilStatus(client(), applicationId, 'eligible');
      const { data } = (await get(client(), `applications/${applicationId}/history`)).body;
      waitedMs.push(Date.parse(data.at(-1).at) - Date.parse(data[0].at));
    }
    const median = waitedMs.sort((a, b) => a - b)[3];
    expect(median).toBeLessThan(200);
  });

  test('a record that is no message goes to the dead letters, and holds up nothing', async () => {
    const applicationId = await submitted(client());
    await untilStatus(client(), applicationId, 'eligible');
    const bad = { ...outgoing(opened(applicationId)), value: Buffer.from('nonsense') };
    await publisher.publish([bad, outgoing(opened(applicationId))]);
    await waitUntil(
      async () => (await get(client(), `applications/${applicationId}`)).body.caseId === 'case-1',
    );
    await waitUntil(() => published.some(({ topic }) => topic === topics.applicationsDeadLetters.name));
  });

  test('the operator lists that dead letter and puts it back to where the service reads it', async () => {
    const { KAFKA_BROKERS = '', KAFKA_TOPIC_PREFIX = '' } = env;
    const letters = (...args: [string, ...string[]]) =>
      runCommand({
        folder: appFolder,
        command: ['dead-letters', ...args],
        environment: { KAFKA_BROKERS, KAFKA_TOPIC_PREFIX },
      });
    const list = await letters('list');
    expect(list).toMatchObject({ code: 0, output: expect.stringContaining(topics.cases.name) });
    expect(list.output).toMatch(/^1 dead letters, 0 of them put back\.$/m);
    expect(await letters('replay', 'all')).toEqual({ code: 0, output: '1 dead letters put back.\n' });
    // The service cannot take it now either.
    await waitUntil(
      async () => /^2 dead letters, 1 of them put back\.$/m.test((await letters('list')).output),
      { timeoutMs: 30_000 },
    );
  }, 60_000);

  test('SIGKILL loses nothing: what was accepted is decided and told by the next process', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => submit(client())));
    service.child.kill('SIGKILL');
    await once(service.child, 'close');
    await start();
    const ids = answers
      .filter(({ status }) => status === 201)
      .map(({ body }) => body.applicationId as string);
    expect(ids).toHaveLength(20);
    await waitUntil(() => ids.every((id) => heardOf(id).length >= 2), { timeoutMs: 30_000, intervalMs: 100 });
    for (const id of ids)
      expect(new Set(heardOf(id))).toEqual(new Set(['intake eligible', 'decided eligible']));
  }, 70_000);

  test('no log line names the applicant, the answers or a key', async () => {
    const planted = `planted-${randomUUID()}`;
    await submit(client(), {
      key: planted,
      body: { applicantRef: planted, declarationId: planted, answers: { a: planted } },
    });
    await submit(client(), { key: planted, body: { applicantRef: planted, channel: planted } });
    await waitUntil(() => service.output().includes('application.decided'));
    expect(service.output()).not.toContain(planted);
  });

  test('a request is one log line, which says what it was about', async () => {
    const requestId = randomUUID();
    const { body } = await submit(client(), { headers: { 'x-request-id': requestId } });
    const lines = await waitUntil(() => {
      const about = service
        .output()
        .split('\n')
        .filter((line) => line.includes(requestId));
      return about.length > 0 && about.map((line) => JSON.parse(line) as Record<string, unknown>);
    });
    expect(lines).toEqual([
      expect.objectContaining({
        ...{
          msg: 'request.answered',
          route: '/applications/v1/applications',
          status: 201,
          client: 'partner',
        },
        ...{ applicationId: body.applicationId, programCode: 'ANY-PROGRAM', channel: 'web' },
      }),
    ]);
  });

  test('SIGTERM ends it within 10 s, with 0', async () => {
    const startedAt = performance.now();
    service.child.kill('SIGTERM');
    const [code] = (await once(service.child, 'close')) as [number];
    expect(code).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  test('a program that was changed after it was published ends it with 1 and says which', async () => {
    const prisma = new PrismaClient({
      adapter: createDatabaseAdapter({ url: database.url, poolSize: 1, applicationName: 'test' }),
    });
    await prisma.programPack.updateMany({ where: { code: 'SNAP' }, data: { digest: 'another' } });
    await prisma.$disconnect();
    const { code, output } = await runToEnd('main', env);
    expect(code).toBe(1);
    expect(output).toContain('SNAP version 1');
  });

  function outgoing({ topic, key, value, headers }: ReturnType<typeof opened>) {
    return { topic, key: key ?? '', value, headers };
  }
});

describe('a bad environment', () => {
  test('is told whole, by variable and never by value, and ends it with 1', async () => {
    const { code, output } = await runToEnd('main', {
      HTTP_PORT: 'secret-port',
      DATABASE_URL: 'mysql://user:secret-word@db/x',
      KEY_RING: '{"current":"k2","keys":{"k1":"secret-key"}}',
      IDEMPOTENCY_KEY: 'secret-json',
      PROGRAM_SETS: '',
      APPLICANT_REF_PATTERN: '(secret',
    });
    expect(code).toBe(1);
    for (const name of [
      'HTTP_PORT',
      'OPS_PORT',
      'DATABASE_URL',
      'KAFKA_BROKERS',
      'TOKEN_AUDIENCE',
      'TOKEN_ISSUERS',
      'KEY_RING',
      'CURSOR_KEY',
      'IDEMPOTENCY_KEY',
      'PROGRAM_SETS',
      'APPLICANT_REF_PATTERN',
    ]) {
      expect(output).toContain(`${name}`);
    }
    expect(output).not.toContain('secret');
  });

  test('a migration without a database ends with 1', async () => {
    const { code } = await runToEnd('migrate', { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    expect(code).toBe(1);
  });
});
