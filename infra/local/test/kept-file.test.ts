import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '@assistance/test-kit';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { KeptFile } from '../src/machine/kept-file.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'kept-'))));
afterEach(() => rmSync(folder, { recursive: true }));

test('without room on the device the file keeps its value, and gets the newest one once there is room', async () => {
  const path = join(folder, 'file.json');
  const kept = new KeptFile(path);
  const content = () => JSON.parse(readFileSync(path, 'utf8')) as unknown;
  kept.write(1);
  symlinkSync('/dev/full', `${path}.new`);
  kept.write(2);
  kept.write(3);
  expect(content()).toBe(1);
  rmSync(`${path}.new`);
  await waitUntil(() => content() === 3);
});

test('what is not for want of room is thrown', () => {
  expect(() => new KeptFile(join(folder, 'no-such-folder', 'file.json')).write(1)).toThrow('ENOENT');
});
