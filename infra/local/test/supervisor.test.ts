import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { waitUntil } from '@assistance/test-kit';
import { launch, type LaunchOptions } from '../src/processes/launch.ts';
import { ProcessLedger } from '../src/processes/process-ledger.ts';
import { startTimeOf } from '../src/processes/start-time-of.ts';
import { Supervisor } from '../src/processes/supervisor.ts';

let folder: string;
let supervisor: Supervisor;
let troubles: string[];
let changes: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'supervisor-'));
  troubles = [];
  changes = 0;
  supervisor = new Supervisor({ onChange: () => changes++, onTrouble: (line) => troubles.push(line) });
});

afterEach(async () => {
  await supervisor.close();
  rmSync(folder, { recursive: true });
});

const isAlive = (pid: number) => startTimeOf(pid) !== undefined;

function launchNode(name: string, script: string, options: Partial<LaunchOptions> = {}) {
  const ledger = new ProcessLedger(join(folder, `${name}.json`));
  const logFile = join(folder, `${name}.log`);
  return launch({ name, command: process.execPath, args: ['-e', script], logFile, ledger, ...options });
}

const forever = 'setInterval(() => {}, 1000)';
const open = (name: string, script = forever) =>
  supervisor.open({ name, start: async () => launchNode(name, script) });

async function pidAfter(pid: number): Promise<number> {
  return waitUntil(() => {
    const next = supervisor.pids()['one'];
    return next === pid ? undefined : next;
  });
}

test('what is killed comes back, and is announced', async () => {
  const { pid } = await open('one');
  const before = changes;
  process.kill(pid!, 'SIGKILL');
  const next = await pidAfter(pid!);
  expect(isAlive(next)).toBe(true);
  expect(changes).toBeGreaterThan(before);
  expect(troubles).toEqual(['one ended (signal SIGKILL) and is started again']);
});

test('what is held stays away until it is released', async () => {
  const one = await open('one');
  const pid = one.pid!;
  await one.hold();
  expect(isAlive(pid)).toBe(false);
  expect(one.pid).toBeNull();
  expect(supervisor.pids()).toEqual({});
  await one.release();
  expect(isAlive(one.pid!)).toBe(true);
  expect(troubles).toEqual([]);
});

test('what is killed while it is about to come back can be held', async () => {
  const one = await open('one');
  process.kill(one.pid!, 'SIGKILL');
  await one.hold();
  expect(one.pid).toBeNull();
  await one.release();
  expect(isAlive(one.pid!)).toBe(true);
});

test('a frozen process is held all the same', async () => {
  const one = await open('one');
  const pid = one.pid!;
  process.kill(pid, 'SIGSTOP');
  await one.hold();
  expect(isAlive(pid)).toBe(false);
});

test('a first start that fails is the fault of the caller; a later one is tried again', async () => {
  await expect(
    supervisor.open({ name: 'never', start: () => Promise.reject(new Error('no such thing')) }),
  ).rejects.toThrow('no such thing');

  let starts = 0;
  const start = async () => {
    if (++starts === 2) throw new Error('not now');
    return launchNode('one', forever);
  };
  const one = await supervisor.open({ name: 'one', start });
  process.kill(one.pid!, 'SIGKILL');
  await pidAfter(one.pid!);
  expect(starts).toBe(3);
  expect(troubles[1]).toBe('one does not start: not now');
});

test('closing ends all, the foundations last, and nothing comes back', async () => {
  const ended: string[] = [];
  for (const name of ['postgres', 'kafka', 'service']) {
    const opened = await open(name);
    void opened.exited!.then(() => ended.push(name));
  }
  const pids = Object.values(supervisor.pids());
  await supervisor.close();
  expect(pids.map(isAlive)).toEqual([false, false, false]);
  expect(ended[0]).toBe('service');
  expect(troubles).toEqual([]);
});

test('one that does not stop when asked is killed after its time', async () => {
  const stubborn = `process.on('SIGTERM', () => {}); ${forever}`;
  const start = async () => launchNode('one', stubborn, { stopTimeoutMs: 300 });
  const one = await supervisor.open({ name: 'one', start });
  await waitUntil(() => one.pid !== null && isAlive(one.pid));
  const pid = one.pid!;
  await one.hold();
  expect(isAlive(pid)).toBe(false);
});
