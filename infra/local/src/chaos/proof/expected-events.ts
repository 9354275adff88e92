import { programs } from '../load/programs.ts';
import type { Ledger } from './read-ledger.ts';
import type { ReceptionLine } from '../ledger/ledger-lines.ts';

/** An event that must have reached each subscriber of its type. */
export interface ExpectedEvent {
  type: string;
  /** Null where a service made the event: the publisher's bytes are not ours to know. */
  digest: string | null;
}

/**
 * Every event there must be, by what it tells: those that Kafka acknowledged, by their id; those that follow from an
 * accepted application, by the application and the step that its program says.
 */
export function expectedEvents({ submissions, published }: Ledger): Map<string, ExpectedEvent> {
  const expected = new Map<string, ExpectedEvent>();
  for (const [id, { type, digest, acknowledged }] of published) {
    if (acknowledged) expected.set(`${type} ${id}`, { type, digest });
  }
  for (const { program, applicationIds } of submissions.values()) {
    for (const applicationId of applicationIds) {
      const { decisions, caseStatuses } = programs[program]!;
      for (const [type, steps] of [
        ['application.decided', decisions],
        ['case.status_changed', caseStatuses],
      ] as const) {
        for (const step of steps) expected.set(`${type} ${applicationId} ${step}`, { type, digest: null });
      }
    }
  }
  return expected;
}

/** What a received event tells, in the words of `expectedEvents`. */
export function toldBy({ type, id, data }: ReceptionLine): string {
  switch (type) {
    case 'application.decided':
      return `${type} ${String(data['applicationId'])} ${String(data['decision'])}`;
    case 'case.status_changed':
      return `${type} ${String(data['applicationId'])} ${String(data['status'])}`;
    default:
      return `${type} ${id}`;
  }
}
