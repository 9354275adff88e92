import type { ApplicationStatus } from '@assistance/types';

export type Answers = 'none' | 'low' | 'high' | 'ill';
export type Outcome = 'eligible' | 'ineligible' | 'awarded';

/** What a caller sends, as far as the model tells submissions apart. */
export interface Submission {
  program: string;
  applicant: number;
  answers: Answers;
}

export type CaseMessage =
  | { kind: 'opened'; caseId: string }
  | { kind: 'determined'; caseId: string; outcome: 'awarded' | 'ineligible' }
  | { kind: 'reviewed'; outcome: 'eligible' | 'ineligible' };

export interface ModelApplication {
  submission: Submission;
  status: ApplicationStatus;
  caseId: string | null;
  /** A determination that came before the application was eligible. */
  early: { caseId: string; outcome: 'awarded' | 'ineligible' } | null;
  /** Whose turn it is: the rules' now, the rules' when some time has passed, a person's review, or nobody's of these. */
  turn: 'rules' | 'rules later' | 'review' | 'nobody';
  withdrawal: { key: string | null; caseId: string | null } | null;
  /** `status reason`, oldest first. */
  history: string[];
  /** What other systems are told, in order. */
  told: string[];
  /** Messages of case management that changed nothing and are audited for it. */
  ignored: number;
}

export interface Model {
  applications: ModelApplication[];
  /** The position of the application of each key that was used up. */
  keys: Map<string, number>;
}

/** The answer to a request: its status and code, or the application that it is about. */
export type Expected = { status: number; code: string } | { status: number; n: number; replayed?: true };

export const createModel = (): Model => ({ applications: [], keys: new Map() });

/** What the specification and the design say of the programs. */
const verdicts: Record<string, (answers: Answers) => 'eligible' | 'ineligible' | 'review'> = {
  'ANY-AID': () => 'eligible',
  'TEST-INELIGIBLE': () => 'ineligible',
  'TEST-PENDING': () => 'eligible',
  'TEST-UNDETERMINED': () => 'review',
  'TEST-SLOW': () => 'eligible',
  'TEST-NO-WITHDRAWAL': () => 'eligible',
  'TEST-ONE-OPEN': () => 'eligible',
  'TEST-SCHEMA': (answers) => (answers === 'high' ? 'ineligible' : 'eligible'),
};
const refused: Record<string, string> = {
  'TEST-CLOSED': 'program_not_open',
  'TEST-UNKNOWN': 'program_unknown',
};
export const programs = [...Object.keys(verdicts), ...Object.keys(refused)];

export const isOpen = ({ status }: ModelApplication): boolean =>
  status === 'submitted' || status === 'validating' || status === 'eligible';

const isSame = (a: Submission, b: Submission): boolean =>
  a.program === b.program && a.applicant === b.applicant && a.answers === b.answers;

export function submit(model: Model, key: string, submission: Submission): Expected {
  const known = model.keys.get(key);
  if (known !== undefined) {
    return isSame(model.applications[known]!.submission, submission)
      ? { status: 201, n: known, replayed: true }
      : { status: 409, code: 'idempotency_key_reused' };
  }
  const { program, applicant, answers } = submission;
  if (refused[program] !== undefined) return { status: 422, code: refused[program] };
  if (program === 'TEST-SCHEMA' && (answers === 'none' || answers === 'ill'))
    return { status: 400, code: 'validation_error' };
  const rival = model.applications.some(
    (each) => isOpen(each) && each.submission.program === program && each.submission.applicant === applicant,
  );
  if (program === 'TEST-ONE-OPEN' && rival) return { status: 409, code: 'duplicate_application' };
  const n = model.applications.push({
    submission,
    status: 'submitted',
    caseId: null,
    early: null,
    turn: program === 'TEST-SLOW' ? 'rules later' : 'rules',
    withdrawal: null,
    history: ['submitted -'],
    told: [],
    ignored: 0,
  });
  model.keys.set(key, n - 1);
  return { status: 201, n: n - 1 };
}

export function withdraw(model: Model, n: number, key: string | null): Expected {
  const application = model.applications[n]!;
  const { status, turn, caseId, early, submission, withdrawal } = application;
  if (withdrawal !== null) {
    return key !== null && withdrawal.key === key
      ? { status: 200, n, replayed: true }
      : { status: 422, code: 'already_withdrawn' };
  }
  if (!isOpen(application) || submission.program === 'TEST-NO-WITHDRAWAL')
    return { status: 422, code: 'withdrawal_not_permitted' };
  if (status === 'eligible' || turn === 'review' || caseId !== null || early !== null) {
    application.told.push(`intake withdrawn ${caseId ?? early?.caseId ?? '-'}`);
  }
  application.withdrawal = { key, caseId };
  moveTo(application, 'withdrawn', 'withdrawn_on_request');
  return { status: 200, n };
}

/** The rules' first step: an instance has taken up what is due, and nobody else may for some time. */
export function claim(model: Model): number[] {
  const due = [...model.applications.keys()].filter((n) => model.applications[n]!.turn === 'rules');
  for (const n of due) {
    const application = model.applications[n]!;
    if (application.status === 'submitted') moveTo(application, 'validating', '-');
    application.turn = 'rules later';
  }
  return due;
}

/** The rules' second step, for what was taken up. */
export function decide(model: Model, claimed: number[]): void {
  for (const n of claimed) {
    const application = model.applications[n]!;
    if (application.status === 'eligible') {
      determine(application, application.early!);
      continue;
    }
    const { program, answers } = application.submission;
    const verdict = verdicts[program]!(answers);
    if (verdict === 'review') {
      application.turn = 'review';
      application.told.push(`intake review ${application.caseId ?? '-'}`);
      application.history[application.history.length - 1] = 'validating review_needed';
    } else {
      settle(application, verdict, verdict === 'eligible' ? 'requirements_met' : 'rules');
    }
  }
}

export function passTime(model: Model): void {
  for (const application of model.applications)
    if (application.turn === 'rules later') application.turn = 'rules';
}

export function hear(application: ModelApplication, message: CaseMessage): void {
  if (message.kind === 'reviewed') {
    if (application.turn === 'review') settle(application, message.outcome, 'reviewed');
    else if (application.status !== message.outcome) application.ignored++;
    return;
  }
  const { caseId, early } = application;
  const known = caseId ?? early?.caseId ?? message.caseId;
  if (known !== message.caseId) application.ignored++;
  else if (message.kind === 'opened') application.caseId = known;
  else if (early !== null && isOpen(application)) {
    if (early.outcome !== message.outcome) application.ignored++;
  } else if (application.status === 'eligible') determine(application, message);
  else if (isOpen(application)) application.early = { caseId: known, outcome: message.outcome };
  else if (application.status !== message.outcome || caseId !== known) application.ignored++;
}

function settle(application: ModelApplication, outcome: 'eligible' | 'ineligible', reason: string): void {
  if (outcome === 'eligible') application.told.push(`intake eligible ${application.caseId ?? '-'}`);
  application.told.push(`decided ${outcome} ${application.caseId ?? '-'}`);
  moveTo(application, outcome, reason);
  if (outcome === 'eligible' && application.early !== null) application.turn = 'rules';
}

function determine(
  application: ModelApplication,
  { caseId, outcome }: { caseId: string; outcome: Outcome },
): void {
  application.caseId = caseId;
  application.told.push(`decided ${outcome} ${caseId}`);
  moveTo(application, outcome, 'case_determined');
}

function moveTo(application: ModelApplication, status: ApplicationStatus, reason: string): void {
  application.status = status;
  application.turn = status === 'validating' ? 'rules later' : 'nobody';
  application.history.push(`${status} ${reason}`);
}
