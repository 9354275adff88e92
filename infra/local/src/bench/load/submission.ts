import { randomUUID } from 'node:crypto';

/** An application for a program that takes any answers, some 250 bytes. */
export const submission = () => ({
  programCode: 'BENCH',
  channel: 'web',
  applicantRef: `applicant-${randomUUID()}`,
  declarationId: `declaration-${randomUUID()}`,
  answers: { householdSize: 3, monthlyIncomeCents: 180_000, note: 'x'.repeat(60) },
});
