import { expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';

/** Runs the statements in a process of their own. */
function run(statements: string, level: string, output: 'pipe' | number) {
  const script = `
    import { createLogger } from './src/index.ts';
    const log = createLogger({ service: 'things', level: '${level}' });
    ${statements}`;
  return spawnSync(process.execPath, ['--conditions=source', '--input-type=module', '-e', script], {
    env: {},
    encoding: 'utf8',
    stdio: ['ignore', output, 'pipe'],
    timeout: 30_000,
  });
}

/** The lines that a process logs with these statements. */
function logged(statements: string, level = 'info'): Record<string, unknown>[] {
  const { stdout, stderr } = run(statements, level, 'pipe');
  expect(stderr).toBe('');
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('a line is JSON with time, level, service, the name of what was done, and its fields', () => {
  const [line, ...more] = logged(
    `log.info({ thingId: 't1', durationMs: 3 }, 'thing.made'); log.debug('not this');`,
  );
  expect(more).toEqual([]);
  expect(line).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    service: 'things',
    thingId: 't1',
    durationMs: 3,
    msg: 'thing.made',
  });
});

test('the level is as configured', () => {
  expect(logged(`log.info('a'); log.warn('b'); log.error('c');`, 'warn').map(({ msg }) => msg)).toEqual([
    'b',
    'c',
  ]);
});

test('secrets and personal data that slip in are not shown, at any of three depths', () => {
  const fields = [
    'authorization',
    'signingSecret',
    'secret',
    'clientSecret',
    'token',
    'answers',
    'applicantRef',
    'declarationId',
    'callbackUrl',
    'responseBody',
  ];
  const object = Object.fromEntries(fields.map((field) => [field, 'hunter2']));
  const [line] = logged(`const o = ${JSON.stringify(object)}; log.info({ ...o, a: o, b: { c: o } }, 'x');`);
  expect(JSON.stringify(line)).not.toContain('hunter2');
  expect(line?.['signingSecret']).toBe('[redacted]');
});

test('an error is logged by its name, code, message, place and causes, not by the rows a driver adds to it', () => {
  const [line] = logged(`
    const cause = Object.assign(new Error('duplicate key'), { code: '23505', detail: 'Key (name)=(hunter2) already exists.' });
    log.error({ err: Object.assign(new TypeError('failed', { cause }), { query: 'hunter2' }) }, 'x');`);
  expect(JSON.stringify(line)).not.toContain('hunter2');
  expect(line?.['err']).toMatchObject({
    type: 'TypeError',
    message: 'failed',
    stack: expect.stringContaining('at '),
    cause: { type: 'Error', code: '23505', message: 'duplicate key' },
  });
});

test('what is thrown and is no error is not shown', () => {
  const [line] = logged(`log.error({ err: 'hunter2' }, 'x');`);
  expect(line?.['err']).toEqual({ message: 'a value that is no Error was thrown' });
});

test('a log that cannot be written neither ends the process nor keeps it from ending', () => {
  const unwritable = openSync(devNull, 'r');
  const { status, stderr } = run(
    `log.info('a');
    setTimeout(() => {
      log.fatal('b');
      console.error('went on');
      process.exit(3);
    }, 50);`,
    'info',
    unwritable,
  );
  closeSync(unwritable);
  expect({ status, stderr }).toEqual({ status: 3, stderr: 'went on\n' });
});
