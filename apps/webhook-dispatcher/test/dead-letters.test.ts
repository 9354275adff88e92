import { spawn } from 'node:child_process';
import { afterAll, expect, test } from '@jest/globals';
import { topics } from '@assistance/types';
import { connectKafka, createLogger, readToEnd, type ReceivedRecord } from '@assistance/service-kit';
import { waitUntil } from '@assistance/test-kit';
import { folder, nodeArguments, runOperatorCommand } from './run-operator-command.ts';
import { createSurroundings, startDispatcher } from './start-dispatcher.ts';

const surroundings = await createSurroundings();
afterAll(() => surroundings.close(), 30_000);
const { KAFKA_BROKERS = '', KAFKA_TOPIC_PREFIX: topicPrefix = '' } = surroundings.environment;
const env = { KAFKA_BROKERS, KAFKA_TOPIC_PREFIX: topicPrefix };
const log = createLogger({ service: 'test', level: 'silent' });
const kafka = connectKafka({ brokers: KAFKA_BROKERS.split(','), clientId: 'test', log });

const source = topics.documentAvailable.name;
const deadLetterTopic = topics.dispatcherDeadLetters.name;
const run = (...args: string[]) => runOperatorCommand(env, 'dead-letters', ...args);

async function recordsOf(topic: string): Promise<ReceivedRecord[]> {
  const records: ReceivedRecord[] = [];
  const handle = async (of: ReceivedRecord[]) => void records.push(...of);
  await readToEnd({ kafka, topicPrefix, topic, groupId: 'test', handle });
  return records;
}

const broken = (n: number) => ({
  topic: source,
  key: `person-${n}`,
  value: Buffer.from(`{"name": "Ada Lovelace", "n": ${n}`),
  headers: { 'content-type': 'application/json', trace: `t${n}` },
});

/** A record as it lies in the dead-letter topic. */
const letterOf = <R extends { topic: string; headers: Record<string, string> }>(record: R): R => ({
  ...record,
  topic: deadLetterTopic,
  headers: {
    ...record.headers,
    ...{ 'dlq-topic': record.topic, 'dlq-partition': '0', 'dlq-offset': '1' },
    'dlq-at': new Date().toISOString(),
  },
});

test('dead letters are listed without their content, and put back as they were, each once', async () => {
  const dispatcher = await startDispatcher(surroundings);
  await surroundings.publisher.publish([broken(1), broken(2), { ...broken(3), key: null }]);
  const list = await waitUntil(
    async () => {
      const { lines } = await run('list');
      return lines.at(-1) === '3 dead letters, 0 of them put back.' ? lines : undefined;
    },
    { timeoutMs: 30_000 },
  );
  await dispatcher.stop();
  const line = /^(\d+:\d+) +\S+Z {2}(\S+) (\d+:\d+) {2}unacceptable {2}the value is not JSON in UTF-8$/;
  const letters = list.slice(0, 3).map((text) => line.exec(text)!);
  expect(letters.map(([, , topic]) => topic)).toEqual([source, source, source]);
  expect(list.join()).not.toMatch(/Ada|person/);

  const first = letters[0]![1]!;
  expect((await run('replay', first)).lines).toEqual(['1 dead letters put back.']);
  expect((await run('list')).lines.at(-1)).toBe('3 dead letters, 1 of them put back.');
  expect((await run('replay', 'all')).lines).toEqual(['2 dead letters put back.']);
  expect((await run('replay', 'all')).lines).toEqual(['0 dead letters put back.']);
  const copies = Map.groupBy(await recordsOf(source), ({ headers }) => headers['trace']);
  expect(copies.size).toBe(3);
  for (const [original, again, ...more] of copies.values()) {
    expect(again).toEqual({
      ...original!,
      offset: again!.offset,
      partition: again!.partition,
      timestamp: again!.timestamp,
    });
    expect(more).toEqual([]);
  }
  expect(await run('replay', '0:999')).toMatchObject({ code: 1 });
  expect(await run('replay', 'everything')).toMatchObject({
    code: 1,
    fault: expect.stringMatching(/^Usage/),
  });
}, 90_000);

test('killed while it puts them back, it loses none, and goes on with those that are not done', async () => {
  const admin = kafka.admin();
  await admin.connect();
  const endOf = async (topic: string): Promise<number> =>
    (await admin.fetchTopicOffsets(topicPrefix + topic)).reduce((sum, { high }) => sum + Number(high), 0);
  const before = await endOf(deadLetterTopic);
  const letters = Array.from({ length: 2_000 }, (_, i) => letterOf(broken(1_000 + i)));
  await surroundings.publisher.publish(letters);
  const notes = async () => (await endOf(deadLetterTopic)) - before - letters.length;
  const doomed = spawn(process.execPath, nodeArguments('dead-letters', 'replay', 'all'), {
    ...{ cwd: folder, env, stdio: 'ignore' },
  });
  const ended = new Promise((resolve) => doomed.once('exit', (_code, signal) => resolve(signal)));
  await waitUntil(async () => (await notes()) > 0, { timeoutMs: 30_000, intervalMs: 1 });
  doomed.kill('SIGKILL');
  expect(await ended).toBe('SIGKILL');
  const left = letters.length - (await notes());
  expect(left).toBeGreaterThan(0);
  await admin.disconnect();

  expect((await run('replay', 'all')).lines).toEqual([`${left} dead letters put back.`]);
  const again = (await recordsOf(source)).filter(
    ({ headers: { trace } }) => Number(trace?.slice(1)) >= 1_000,
  );
  expect(new Set(again.map(({ headers: { trace } }) => trace)).size).toBe(letters.length);
  // What was put back and not yet noted comes twice.
  expect(again.length).toBeLessThanOrEqual(letters.length + 100);
}, 90_000);

test('none is put back where the service does not read, nor noted when its topic does not take it', async () => {
  const inTotal = async () => (await run('list')).lines.at(-1);
  const [count, putBack] = (await inTotal())!.match(/\d+/g)!.map(Number);
  await surroundings.publisher.publish([letterOf({ ...broken(1), topic: topics.cases.name })]);
  expect((await run('replay', 'all')).lines).toEqual(['0 dead letters put back.']);

  const tooLarge = letterOf({ ...broken(2), value: Buffer.alloc(1_500_000) });
  await surroundings.publisher.publish([tooLarge]);
  expect((await run('replay', 'all')).code).toBe(1);
  expect(await inTotal()).toBe(`${count! + 2} dead letters, ${putBack} of them put back.`);
}, 90_000);
