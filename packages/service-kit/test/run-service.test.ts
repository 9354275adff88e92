import { afterAll, describe, expect, test } from '@jest/globals';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { waitUntil } from '@assistance/test-kit';
import { startTopics } from './support/start-topics.ts';

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

interface Process {
  said: string[];
  child: ChildProcess;
  hears(what: string): Promise<unknown>;
  /** Its exit code, or the signal that ended it. */
  ended: Promise<number | string>;
}

function start(parts: string[], env: Record<string, string> = {}): Process {
  const said: string[] = [];
  const child = fork('test/support/service-process.ts', parts, {
    execArgv: ['--conditions=source'],
    env: { PATH: process.env['PATH'], ...env },
    stdio: 'ignore',
    serialization: 'json',
  });
  children.push(child);
  child.on('message', (message) => said.push(message as string));
  const ended = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  return {
    said,
    child,
    ended,
    hears: (what) => waitUntil(() => said.includes(what), { timeoutMs: 10_000 }),
  };
}

test.concurrent('a stop that takes longer than 10 s is ended with 1', async () => {
  const service = start(['hanging']);
  await service.hears('running');
  const startedAt = performance.now();
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(1);
  expect(performance.now() - startedAt).toBeLessThan(12_000);
});

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  test.concurrent('stops the parts in reverse, one after the other, and ends with 0', async () => {
    const service = start(['first', 'slow', 'last']);
    await service.hears('running');
    expect(service.said.slice(0, 3)).toEqual(['first started', 'slow started', 'last started']);
    service.child.kill(signal);
    expect(await service.ended).toBe(0);
    expect(service.said.slice(4)).toEqual(['last stopped', 'slow stopped', 'first stopped']);
  });
});

test.concurrent('from the moment that it stops it is not ready', async () => {
  const service = start(['slow']);
  await service.hears('running');
  service.child.send('ready?');
  await service.hears('missing: ');
  service.child.kill('SIGTERM');
  await waitUntil(() => {
    service.child.send('ready?');
    return service.said.includes('missing: stopping');
  });
  expect(await service.ended).toBe(0);
});

test.concurrent('a second signal changes nothing', async () => {
  const service = start(['first', 'slow']);
  await service.hears('running');
  service.child.kill('SIGTERM');
  service.child.kill('SIGINT');
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
  expect(service.said.filter((what) => what === 'slow stopped')).toHaveLength(1);
});

test.concurrent('a part that cannot be stopped does not keep the others', async () => {
  const service = start(['first', 'failing-stop', 'last']);
  await service.hears('running');
  service.child.kill('SIGTERM');
  expect(await service.ended).toBe(0);
  expect(service.said).toContain('first stopped');
});

test.concurrent('a part that cannot start ends the process with 1, the others stopped', async () => {
  const service = start(['first', 'failing-start', 'never']);
  expect(await service.ended).toBe(1);
  expect(service.said).toEqual(['first started', 'failing-start stopped', 'first stopped']);
});

test.concurrent.each(['throwing', 'rejecting'])(
  'an error that nobody handles ends the process with 1 (%s)',
  async (what) => {
    expect(await start(['first', what]).ended).toBe(1);
  },
);

describe('while Kafka is away a stop is graceful all the same', () => {
  test.concurrent.each([
    ['from the start', ['kafka-away']],
    ['after it was there, with a record under way', ['kafka']],
  ])('%s', async (_when, parts) => {
    const topics = await startTopics();
    const service = start(['first', ...parts], {
      TEST_KAFKA_BROKERS: process.env['TEST_KAFKA_BROKERS'] ?? '',
      TOPIC_PREFIX: topics.topicPrefix,
    });
    await service.hears('kafka as wanted');
    service.child.send('cut');
    service.child.send('publish');
    const startedAt = performance.now();
    service.child.kill('SIGTERM');
    expect(await service.ended).toBe(0);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(service.said).toContain('first stopped');
    await topics.stop();
  });
});
