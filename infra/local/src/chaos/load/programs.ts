/** What becomes of an application, by its program (the sandbox's programs are described in README.md). */
export interface Program {
  answers: Record<string, unknown>;
  finalStatus: string;
  /** Of the events `application.decided`. */
  decisions: string[];
  /** Of the events `case.status_changed`. */
  caseStatuses: string[];
}

const awarded = {
  finalStatus: 'awarded',
  decisions: ['eligible', 'awarded'],
  caseStatuses: ['opened', 'awarded'],
};
const refused = { finalStatus: 'ineligible', decisions: ['ineligible'], caseStatuses: [] };

/** By the name that the ledger keeps; `programCode` is what comes before the first colon. */
export const programs: Record<string, Program> = {
  'CHAOS-AID': { answers: {}, ...awarded },
  'TEST-SCHEMA:within': { answers: { householdSize: 3, monthlyIncomeCents: 250_000 }, ...awarded },
  'TEST-SCHEMA:above': { answers: { householdSize: 1, monthlyIncomeCents: 250_001 }, ...refused },
  'TEST-INELIGIBLE': { answers: {}, ...refused },
  'TEST-DENIED': {
    answers: {},
    finalStatus: 'ineligible',
    decisions: ['eligible', 'ineligible'],
    caseStatuses: ['opened', 'ineligible'],
  },
  'TEST-PENDING': { answers: {}, finalStatus: 'eligible', decisions: ['eligible'], caseStatuses: ['opened'] },
  // Waits for a person, by the rules of its program.
  'TEST-UNDETERMINED': { answers: {}, finalStatus: 'validating', decisions: [], caseStatuses: [] },
};

export const programCodeOf = (program: string): string => program.split(':')[0]!;
