import { expect, test } from '@jest/globals';
import { platformSettings } from '../src/platform/platform-settings.ts';

test('without arguments: one of each, as a sandbox, on port 8080', () => {
  const { localDir, ...settings } = platformSettings([], {});
  expect(settings).toEqual({ port: 8080, instances: 1, deployment: 'sandbox', once: false });
  expect(localDir).toMatch(/\/\.local$/);
});

test('arguments and variables are taken over', () => {
  const args = ['--once', '--instances', '2', '--deployment=agency'];
  expect(platformSettings(args, { PORT: '9000', LOCAL_DIR: '/tmp/other' })).toEqual({
    port: 9000,
    localDir: '/tmp/other',
    instances: 2,
    deployment: 'agency',
    once: true,
  });
});

test.each([
  [['--instances', '0'], {}, '--instances is a number from 1 to 9'],
  [['--instances', 'two'], {}, '--instances is a number from 1 to 9'],
  [['--deployment', 'cloud'], {}, '--deployment is sandbox or agency'],
  [['--twice'], {}, "Unknown option '--twice'"],
  [[], { PORT: 'http' }, 'PORT=http is no port'],
  [[], { PORT: '65536' }, 'PORT=65536 is no port'],
])('%j with %j is a fault that says what is wrong', (args, environment, message) => {
  expect(() => platformSettings(args, environment)).toThrow(message);
});
