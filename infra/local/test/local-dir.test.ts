import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { claimLocalDir, localFiles, releaseLocalDir, runningIn } from '../src/platform/local-dir.ts';
import { assignPorts, checkGatewayPort } from '../src/machine/ports.ts';
import { loadSecrets } from '../src/platform/secrets.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'local-dir-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

test('one platform runs in a folder; a second is told where the first is', async () => {
  await claimLocalDir(folder, 'http://localhost:8080');
  expect(runningIn(folder)).toMatchObject({ pid: process.pid, gateway: 'http://localhost:8080' });
  await expect(claimLocalDir(folder, 'http://localhost:8090')).rejects.toThrow(
    `runs already, at http://localhost:8080 (process ${process.pid})`,
  );
  releaseLocalDir(folder);
  expect(runningIn(folder)).toBeUndefined();
  await claimLocalDir(folder, 'http://localhost:8090');
});

test('the claim of a platform that was killed does not count', async () => {
  const stale = { pid: process.pid, startTime: 'another time', gateway: 'http://localhost:8080' };
  writeFileSync(localFiles(folder).owner, JSON.stringify(stale));
  await claimLocalDir(folder, 'http://localhost:8080');
});

test('what is no folder cannot be used', async () => {
  const file = join(folder, 'file');
  writeFileSync(file, '');
  await expect(claimLocalDir(file, 'http://localhost:8080')).rejects.toThrow(
    /The folder .* cannot be used \((ENOTDIR|EEXIST)\).*choose another with LOCAL_DIR/s,
  );
});

test('secrets are made once, for their owner alone', () => {
  const file = join(folder, 'secrets.json');
  const made = loadSecrets(file);
  expect(loadSecrets(file)).toEqual(made);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(new Set(Object.values(made.databasePasswords)).size).toBe(3);
  expect(made.applicationsKeyRing.keys['k1']).not.toBe(made.subscriptionsKeyRing.keys['k1']);
});

test('secrets that cannot be read are a fault, and are not replaced', () => {
  const file = join(folder, 'secrets.json');
  writeFileSync(file, '{"postgresPassword":');
  expect(() => loadSecrets(file)).toThrow('npm run reset');
  expect(readFileSync(file, 'utf8')).toBe('{"postgresPassword":');
});

test('ports stay the same from start to start, unless somebody took one', async () => {
  const file = join(folder, 'ports.json');
  const first = await assignPorts(file, ['one', 'two']);
  expect(await assignPorts(file, ['one', 'two', 'three'])).toMatchObject(first);
  const other = createServer().listen(first.one, '127.0.0.1');
  await once(other, 'listening');
  const later = await assignPorts(file, ['one', 'two']);
  expect(later.one).not.toBe(first.one);
  expect(later.two).toBe(first.two);
  await expect(checkGatewayPort(first.one)).rejects.toThrow(`PORT=${first.one + 1} npm start`);
  other.close();
});
