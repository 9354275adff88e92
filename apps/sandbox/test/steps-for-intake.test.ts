import { describe, expect, test } from '@jest/globals';
import type { IntakeData } from '@assistance/types';
import { CaseRegister } from '../src/case-management/case-register.ts';
import type { CaseStep } from '../src/case-management/case-step.ts';
import { stepsForIntake } from '../src/case-management/steps-for-intake.ts';

const now = new Date('2026-01-02T03:04:05.000Z');
const at = now.toISOString();
const due = '2026-01-02T03:04:07.000Z';

const intake = (change: Partial<IntakeData> = {}): IntakeData => ({
  kind: 'eligible',
  applicationId: 'app_1',
  programCode: 'HEATING-AID',
  programVersion: 1,
  applicantRef: 'applicant-1',
  declarationId: null,
  channel: 'web',
  caseId: null,
  submittedAt: at,
  requestedAt: at,
  ...change,
});

function setUp() {
  let issued = 0;
  const register = new CaseRegister();
  const newIds = { caseId: () => `CASE-${++issued}`, messageId: () => `evt_${++issued}` };
  const take = (change: Partial<IntakeData> = {}): CaseStep[] => {
    const steps = stepsForIntake(intake(change), register, now, newIds);
    for (const step of steps) register.apply(step);
    return steps;
  };
  return { register, take };
}

describe('an eligible application', () => {
  test('gets a case, which falls due two seconds later', () => {
    const { take, register } = setUp();
    expect(take()).toEqual([
      {
        step: 'case_opened',
        caseId: 'CASE-1',
        applicationId: 'app_1',
        at,
        due: { at: due, outcome: 'awarded' },
        ids: { answer: 'evt_2', event: 'evt_3' },
      },
    ]);
    expect(register.dueAt(new Date(Date.parse(due) - 1), 10)).toEqual([]);
    expect(register.dueAt(new Date(due), 10)).toMatchObject([{ caseId: 'CASE-1', status: 'opened' }]);
  });

  test('gets no second case when its intake comes again', () => {
    const { take } = setUp();
    take();
    expect(take()).toEqual([]);
  });

  test('is denied in TEST-DENIED', () => {
    expect(setUp().take({ programCode: 'TEST-DENIED' })).toMatchObject([{ due: { outcome: 'ineligible' } }]);
  });

  test.each(['TEST-PENDING', 'TEST-NO-WITHDRAWAL', 'TEST-ONE-OPEN'])(
    'waits for a person in %s',
    (programCode) => {
      expect(setUp().take({ programCode })).toMatchObject([{ step: 'case_opened', due: null }]);
    },
  );
});

describe('a withdrawn application', () => {
  test('has its case closed, once, and nothing falls due any more', () => {
    const { take, register } = setUp();
    take();
    expect(take({ kind: 'withdrawn' })).toMatchObject([
      { step: 'case_closed', caseId: 'CASE-1', previousStatus: 'opened' },
    ]);
    expect(take({ kind: 'withdrawn' })).toEqual([]);
    expect(register.dueAt(new Date(due), 10)).toEqual([]);
  });

  test('has its case closed also after it was determined', () => {
    const { take, register } = setUp();
    take();
    const ids = { answer: 'a', event: 'b' };
    register.apply({
      step: 'case_determined',
      caseId: 'CASE-1',
      applicationId: 'app_1',
      at,
      outcome: 'awarded',
      previousStatus: 'opened',
      ids,
    });
    expect(take({ kind: 'withdrawn' })).toMatchObject([{ step: 'case_closed', previousStatus: 'awarded' }]);
  });

  test('without a case needs nothing', () => {
    expect(setUp().take({ kind: 'withdrawn' })).toEqual([]);
  });
});

test('a review waits for a person, is asked once, and the case is opened when it ended well', () => {
  const { take, register } = setUp();
  expect(take({ kind: 'review' })).toEqual([{ step: 'review_asked', applicationId: 'app_1', at }]);
  expect(take({ kind: 'review' })).toEqual([]);
  expect(register.review('app_1')).toEqual({ determined: false });
  expect(take()).toMatchObject([{ step: 'case_opened' }]);
});

test('finished cases beyond 50 000 are forgotten, open ones never', () => {
  const { take, register } = setUp();
  take({ applicationId: 'app_open', programCode: 'TEST-PENDING' });
  for (let n = 0; n < 50_001; n++) {
    take({ applicationId: `app_${n}` });
    take({ applicationId: `app_${n}`, kind: 'withdrawn' });
  }
  expect(register.caseFor('app_open')).toBeDefined();
  expect(register.caseFor('app_0')).toBeUndefined();
  expect(register.caseFor('app_1')).toBeDefined();
});
