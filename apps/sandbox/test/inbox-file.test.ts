import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Inbox } from '../src/inbox/inbox.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'inbox-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const bodies = (inbox: Inbox | undefined) => inbox?.received().map(({ body }) => body);
const take = (inbox: Inbox | undefined, body: string) => inbox?.take({}, Buffer.from(body), new Date());

test('a request whose line was cut short is not shown, and spoils none that comes later', async () => {
  const inbox = Inbox.make(folder, {});
  await take(inbox, 'whole');
  await take(inbox, 'cut short');
  const path = join(folder, 'current');
  truncateSync(path, statSync(path).size - 5);

  const again = Inbox.open(folder);
  await take(again, 'later');
  expect(bodies(again)).toEqual(['whole', 'later']);
  expect(bodies(Inbox.open(folder))).toEqual(['whole', 'later']);
});

test('it numbers on where it stood, also when it has just begun a new file', async () => {
  const inbox = Inbox.make(folder, { failFirst: 1_001 });
  for (let n = 1; n <= 1_000; n++) await take(inbox, String(n));
  const again = Inbox.open(folder);
  expect(await take(again, '1001')).toMatchObject({ status: 500 });
  expect(await take(Inbox.open(folder), '1002')).toMatchObject({ status: 200 });
});

test('where none was made there is none', () => {
  expect(Inbox.open(folder)).toBeUndefined();
});
