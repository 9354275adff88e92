import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { endLeftBehind, ProcessLedger } from '../src/processes/process-ledger.ts';
import { startTimeOf } from '../src/processes/start-time-of.ts';

let folder: string;
let file: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'));
  file = join(folder, 'processes.json');
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

async function startNode(script: string): Promise<{ child: ChildProcess; pid: number }> {
  const child = spawn(process.execPath, ['-e', `${script}; console.log('up')`], { detached: true });
  children.push(child);
  await once(child.stdout, 'data');
  return { child, pid: child.pid! };
}

const forever = 'setInterval(() => {}, 1000)';

test('what the ledger names is ended, by its name', async () => {
  const { child, pid } = await startNode(forever);
  new ProcessLedger(file).record('service', pid);
  const exited = once(child, 'exit');
  expect(await endLeftBehind(file)).toEqual(['service']);
  await exited;
  expect(existsSync(file)).toBe(false);
});

test('a frozen process is ended too', async () => {
  const { child, pid } = await startNode(forever);
  new ProcessLedger(file).record('frozen', pid);
  child.kill('SIGSTOP');
  expect(await endLeftBehind(file)).toEqual(['frozen']);
});

test('one that ignores the request is killed', async () => {
  const { pid } = await startNode(`process.on('SIGINT', () => {}); ${forever}`);
  new ProcessLedger(file).record('stubborn', pid);
  expect(await endLeftBehind(file)).toEqual(['stubborn']);
  expect(startTimeOf(pid)).toBeUndefined();
}, 15_000);

test('a process that was given the pid of ours later is left alone', async () => {
  const { pid } = await startNode(forever);
  new ProcessLedger(file).record('gone', pid);
  const recorded = JSON.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, JSON.stringify([{ ...recorded[0], startTime: 'another time' }]));
  expect(await endLeftBehind(file)).toEqual([]);
  expect(startTimeOf(pid)).toBeDefined();
});

test('a ledger that is not there or not readable names nothing', async () => {
  expect(await endLeftBehind(file)).toEqual([]);
  writeFileSync(file, '[{"name":');
  expect(await endLeftBehind(file)).toEqual([]);
});

test('what is forgotten is left alone, and a closed ledger lets nothing more begin', async () => {
  const { pid } = await startNode(forever);
  const ledger = new ProcessLedger(file);
  ledger.record('service', pid);
  ledger.forget(pid);
  expect(await endLeftBehind(file)).toEqual([]);
  expect(startTimeOf(pid)).toBeDefined();
  ledger.close();
  expect(() => ledger.checkOpen()).toThrow('stopped');
});
