import type { Evaluation } from '../programs/evaluate-rules.ts';
import type { Translated } from '../programs/program-pack.ts';
import { decidedRecord, intakeRecord } from '../status/outgoing-records.ts';
import type { Reason, Transition } from '../status/apply-transitions.ts';
import type { DueApplication } from './claim-due.ts';

/** What follows from the rules: eligible goes to case management, undetermined to a person, ineligible is the end. */
export function decide(due: DueApplication, evaluation: Evaluation, at: Date): Transition {
  const { applicationId, version } = due;
  const move = { applicationId, version, from: 'validating', at, actor: ACTOR } as const;
  const rules = evaluation.outcomes.map(({ rule, outcome }) => ({
    code: rule.code,
    outcome,
    citation: rule.citation,
  }));
  switch (evaluation.verdict) {
    case 'eligible':
      return {
        ...move,
        to: 'eligible',
        action: 'application.decided',
        reason: { code: 'requirements_met', message: texts.requirements_met, rules },
        records: [intakeRecord('eligible', due, at), decidedRecord('eligible', due, at)],
      };
    case 'ineligible':
      return {
        ...move,
        to: 'ineligible',
        action: 'application.decided',
        reason: { ...reasonOfRules(evaluation, 'unmet'), rules },
        records: [decidedRecord('ineligible', due, at)],
      };
    case 'undetermined':
      return {
        ...move,
        to: 'validating',
        action: 'application.review_requested',
        reason: { code: 'review_needed', message: texts.review_needed, ...citationOf(evaluation), rules },
        records: [intakeRecord('review', due, at)],
      };
  }
}

/** A determination that was kept until the application became eligible. */
export function settlePending(due: DueApplication, outcome: 'awarded' | 'ineligible', at: Date): Transition {
  const caseId = due.caseId ?? due.pendingCaseId;
  return {
    applicationId: due.applicationId,
    version: due.version,
    from: 'eligible',
    to: outcome,
    at,
    actor: 'case-management',
    action: 'application.decided',
    caseId,
    reason: caseDetermined,
    records: [decidedRecord(outcome, { ...due, caseId }, at)],
  };
}

const ACTOR = 'applications';

/** The code of the first rule that is not met; the words and sources of all of them. */
function reasonOfRules({ outcomes }: Evaluation, wanted: 'unmet'): Reason {
  const rules = outcomes.filter(({ outcome }) => outcome === wanted).map(({ rule }) => rule);
  const words = (language: keyof Translated): string =>
    rules.map(({ message }) => message[language]).join(' ');
  return {
    code: rules[0]?.code ?? 'requirements_not_met',
    message: { en: words('en'), es: words('es') },
    citation: [...new Set(rules.map(({ citation }) => citation))].join('; '),
  };
}

function citationOf({ outcomes }: Evaluation): { citation?: string } {
  const open = outcomes.filter(({ outcome }) => outcome === 'undetermined');
  if (open.length === 0) return {};
  return { citation: [...new Set(open.map(({ rule }) => rule.citation))].join('; ') };
}

const texts = {
  requirements_met: {
    en: 'The application meets the requirements of the program.',
    es: 'La solicitud cumple los requisitos del programa.',
  },
  review_needed: {
    en: 'A person must look at this application before it can be decided.',
    es: 'Una persona debe revisar esta solicitud antes de que pueda resolverse.',
  },
} satisfies Record<string, Translated>;

export const caseDetermined: Reason = {
  code: 'case_determined',
  message: {
    en: 'Case management has decided on the case.',
    es: 'La gestión de casos ha resuelto el caso.',
  },
};
