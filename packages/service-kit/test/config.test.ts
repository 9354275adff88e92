import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readConfig, serviceConfig } from '../src/index.ts';

const key = randomBytes(32).toString('base64');
const good = {
  HTTP_PORT: '8080',
  OPS_PORT: '8081',
  DATABASE_URL: 'postgres://user:pass@db:5432/service',
  KAFKA_BROKERS: 'one:9092,two:9092',
  TOKEN_AUDIENCE: 'https://assistance.test',
  TOKEN_ISSUERS: '[{"issuer":"https://issuer.test"}]',
  KEY_RING: JSON.stringify({ current: 'k1', keys: { k1: key } }),
  CURSOR_KEY: key,
};

describe('a good environment', () => {
  test('is read, with what is not set as documented', () => {
    expect(readConfig(serviceConfig, { ...good, PATH: '/bin' })).toEqual({
      HTTP_PORT: 8080,
      OPS_PORT: 8081,
      DATABASE_URL: good.DATABASE_URL,
      DATABASE_POOL_SIZE: 10,
      KAFKA_BROKERS: ['one:9092', 'two:9092'],
      KAFKA_TOPIC_PREFIX: '',
      TOKEN_AUDIENCE: 'https://assistance.test',
      TOKEN_ISSUERS: [{ issuer: 'https://issuer.test', acceptedTyp: ['at+jwt', 'application/at+jwt'] }],
      KEY_RING: { current: 'k1', keys: { k1: key } },
      CURSOR_KEY: Buffer.from(key, 'base64'),
      RATE_LIMIT_PER_SECOND: 50,
      OPERATOR_CLIENTS: [],
      LOG_LEVEL: 'info',
    });
  });
  test('may have lists with spaces, and empty variables in place of unset ones', () => {
    const read = readConfig(serviceConfig, {
      ...good,
      OPERATOR_CLIENTS: ' https://issuer.test#ops , https://issuer.test#audit,',
      RATE_LIMIT_PER_SECOND: '',
      LOG_LEVEL: '',
    });
    expect(read.OPERATOR_CLIENTS).toEqual(['https://issuer.test#ops', 'https://issuer.test#audit']);
    expect([read.RATE_LIMIT_PER_SECOND, read.LOG_LEVEL]).toEqual([50, 'info']);
  });
});

/** What a process with this environment says before it ends, and with what code. */
function start(env: Record<string, string>): { exitCode: number | null; said: string[] } {
  const script = `import { readConfig, serviceConfig } from './src/index.ts'; readConfig(serviceConfig, process.env);`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--conditions=source', '--input-type=module', '-e', script],
    { env, encoding: 'utf8' },
  );
  return { exitCode: status, said: stderr.split('\n').slice(0, -1) };
}

describe('a bad environment ends the process with 1', () => {
  test('and names every fault at once, one a line', () => {
    const { exitCode, said } = start({
      HTTP_PORT: '70000',
      OPS_PORT: '',
      DATABASE_URL: 'mysql://db/service',
      DATABASE_POOL_SIZE: 'many',
      KAFKA_BROKERS: 'one',
      TOKEN_ISSUERS: '[{"issuer":"nowhere","jwks":"https://x"}]',
      KEY_RING: '{',
      CURSOR_KEY: 'c2hvcnQ=',
      LOG_LEVEL: 'loud',
    });
    expect(exitCode).toBe(1);
    expect(said[0]).toBe('The configuration is not usable:');
    expect(said.slice(1).map((line) => /^ {2}([\w.]+): \S/.exec(line)?.[1])).toEqual([
      'HTTP_PORT',
      'OPS_PORT',
      'DATABASE_URL',
      'DATABASE_POOL_SIZE',
      'KAFKA_BROKERS',
      'TOKEN_AUDIENCE',
      'TOKEN_ISSUERS.0.issuer',
      'TOKEN_ISSUERS.0',
      'KEY_RING',
      'CURSOR_KEY',
      'LOG_LEVEL',
    ]);
    expect(said).toContain('  OPS_PORT: is missing');
    expect(said).toContain('  TOKEN_AUDIENCE: is missing');
  });

  test('and never shows a value: it may be a secret', () => {
    const { said } = start({
      ...good,
      DATABASE_URL: 'mysql://user:hunter2@db/service',
      CURSOR_KEY: 'aHVudGVyMg==',
      KEY_RING: '{"current":"k1","keys":{"k1":"aHVudGVyMg=="}}',
    });
    expect(said).toHaveLength(4);
    expect(said.join('\n')).not.toMatch(/hunter2|aHVudGVyMg/);
  });
});
