import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CaseLedger } from '../src/case-management/case-ledger.ts';
import type { CaseStep } from '../src/case-management/case-step.ts';

const at = '2026-01-02T03:04:05.000Z';
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledger-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const opened = (n: number): CaseStep => ({
  step: 'case_opened',
  caseId: `CASE-${n}`,
  applicationId: `app_${n}`,
  at,
  due: { at, outcome: 'awarded' },
  ids: { answer: `evt_a${n}`, event: `evt_e${n}` },
});

const determined = (n: number): CaseStep => ({
  step: 'case_determined',
  caseId: `CASE-${n}`,
  applicationId: `app_${n}`,
  at,
  outcome: 'awarded',
  previousStatus: 'opened',
  ids: { answer: `evt_b${n}`, event: `evt_f${n}` },
});

/** As a process that was killed leaves it and the next one finds it. */
const reopen = (): CaseLedger => new CaseLedger(folder);
const untold = (ledger: CaseLedger) => ledger.untold(1_000).map(({ step }) => step);
const dueNow = (ledger: CaseLedger) => ledger.register.dueAt(new Date(), 1_000).map(({ caseId }) => caseId);

test('what was recorded is known again, due again, and told again until it was acknowledged', () => {
  const ledger = reopen();
  ledger.record([opened(1), opened(2)]);
  ledger.record([determined(1)]);
  ledger.markTold(ledger.untold(2));

  const again = reopen();
  expect(again.register.case('CASE-1')).toMatchObject({ status: 'awarded', determined: true });
  expect(dueNow(again)).toEqual(['CASE-2']);
  expect(untold(again)).toEqual([determined(1)]);
  again.markTold(again.untold(10));
  expect(untold(reopen())).toEqual([]);
});

test('cut off at any byte, it is as it was after one of its steps, in order', () => {
  const ledger = reopen();
  for (let n = 0; n < 4; n++) ledger.record([opened(n)]);
  ledger.markTold(ledger.untold(2));
  const whole = join(folder, 'cases.journal');
  const length = readFileSync(whole).length;
  for (let end = 0; end <= length; end += 7) {
    const cut = mkdtempSync(join(tmpdir(), 'ledger-cut-'));
    cpSync(whole, join(cut, 'cases.journal'));
    truncateSync(join(cut, 'cases.journal'), end);
    const after = new CaseLedger(cut);
    const known = [0, 1, 2, 3].filter((n) => after.register.case(`CASE-${n}`) !== undefined);
    expect(known).toEqual([0, 1, 2, 3].slice(0, known.length));
    after.record([opened(9)]);
    expect(untold(new CaseLedger(cut)).at(-1)).toEqual(opened(9));
    rmSync(cut, { recursive: true });
  }
});

test('rewritten when it has grown long, it says the same in few lines', () => {
  const ledger = reopen();
  const told = (steps: CaseStep[]): void => {
    for (let start = 0; start < steps.length; start += 500) {
      ledger.record(steps.slice(start, start + 500));
      ledger.markTold(ledger.untold(500));
    }
  };
  ledger.record([{ step: 'review_asked', applicationId: 'app_r', at }]);
  ledger.markTold(ledger.untold(1));
  told(Array.from({ length: 60_000 }, (_, n) => opened(n)));
  told(Array.from({ length: 60_000 }, (_, n) => determined(n)));
  ledger.record([opened(70_000), opened(70_001)]);

  const again = reopen();
  expect(readFileSync(join(folder, 'cases.journal'), 'utf8').split('\n').length).toBeLessThan(100_000);
  expect(again.register.case('CASE-59999')).toMatchObject({ status: 'awarded', determined: true });
  expect(again.register.case('CASE-0')).toBeUndefined();
  expect(again.register.review('app_r')).toEqual({ determined: false });
  expect(dueNow(again)).toEqual(['CASE-70000', 'CASE-70001']);
  expect(untold(again)).toEqual([opened(70_000), opened(70_001)]);
});

test('a damaged journal is named, and left as it is', () => {
  reopen().record([opened(1)]);
  const path = join(folder, 'cases.journal');
  writeFileSync(path, `nonsense\n${readFileSync(path, 'utf8')}`);
  expect(reopen).toThrow(/cases\.journal is damaged.*npm run reset/);
  expect(readFileSync(path, 'utf8')).toMatch(/^nonsense/);
});
