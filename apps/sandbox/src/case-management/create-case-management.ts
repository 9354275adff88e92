import { randomBytes } from 'node:crypto';
import { intakeData, intakeType, topics } from '@assistance/types';
import {
  newId,
  PollLoop,
  readCloudEvent,
  RecordConsumer,
  UnacceptableRecord,
  type Logger,
  type Part,
  type ReceivedRecord,
  type RecordConsumerOptions,
  type RecordPublisher,
} from '@assistance/service-kit';
import type { CaseLedger } from './case-ledger.ts';
import type { CaseStep } from './case-step.ts';
import { messagesOfStep } from './messages-of-step.ts';
import { idsFrom, stepsForIntake, type NewIds } from './steps-for-intake.ts';

const STEPS_PER_TURN = 300;
const DUE_INTERVAL_MS = 100;
/** A step wakes the telling at once; this is for what was left when the process started. */
const TELL_INTERVAL_MS = 5_000;

export const newIds: NewIds = {
  caseId: () => `CASE-${randomBytes(6).toString('hex').toUpperCase()}`,
  messageId: () => newId('evt'),
};

export interface CaseManagement {
  /** Writes steps into the ledger and has them told. */
  record(steps: readonly CaseStep[]): void;
  ledger: CaseLedger;
  consumer: RecordConsumer;
  parts: Part[];
}

/**
 * An agency's case management, simulated: takes intakes from Kafka, opens a case for each eligible application,
 * determines it two seconds later or when told to, and closes it on withdrawal.
 *
 * At least once: a step is in the ledger before its intake's offset is committed and before its messages are sent. What
 * a crash leaves in doubt is taken, or told, again; an intake that is known changes nothing, and a message told again
 * bears the same id.
 */
export function createCaseManagement(options: {
  ledger: CaseLedger;
  publisher: RecordPublisher;
  kafka: RecordConsumerOptions['kafka'];
  topicPrefix: string;
  metrics: RecordConsumerOptions['metrics'];
  log: Logger;
}): CaseManagement {
  const { ledger, publisher, log } = options;
  const consumer = new RecordConsumer({
    ...options,
    groupId: 'case-management',
    topics: [topics.intake.name],
    // Never written to: what is no intake is passed over below. An agency's system keeps its dead letters itself.
    deadLetterTopic: 'assistance.case-management.dlq',
    handle: takeIntakes,
  });
  const telling = new PollLoop({ name: 'tell-steps', intervalMs: TELL_INTERVAL_MS, log, turn: tellSteps });
  const determining = new PollLoop({
    name: 'determine-due',
    intervalMs: DUE_INTERVAL_MS,
    log,
    turn: determineDue,
  });
  const loops = {
    name: 'case-management',
    start: () => {
      telling.start();
      determining.start();
    },
    stop: async () => {
      await Promise.all([determining.stop(), telling.stop()]);
      ledger.close();
    },
  };
  return { ledger, consumer, record, parts: [loops, consumer] };

  function record(steps: readonly CaseStep[]): void {
    if (steps.length === 0) return;
    ledger.record(steps);
    telling.wake();
  }

  async function takeIntakes(records: ReceivedRecord[]): Promise<void> {
    for (const received of records) {
      const intake = readIntake(received);
      if (intake !== undefined) record(stepsForIntake(intake, ledger.register, new Date(), newIds));
    }
  }

  function readIntake(received: ReceivedRecord) {
    try {
      return readCloudEvent(received, { [intakeType]: intakeData })?.data;
    } catch (error) {
      if (!(error instanceof UnacceptableRecord)) throw error;
      const { topic, partition, offset } = received;
      log.error({ topic, partition, offset, err: error }, 'case_management.intake_unreadable');
      return undefined;
    }
  }

  async function tellSteps(): Promise<boolean> {
    const steps = ledger.untold(STEPS_PER_TURN);
    await publisher.publish(steps.flatMap(({ step }) => messagesOfStep(step)));
    ledger.markTold(steps);
    return steps.length === STEPS_PER_TURN;
  }

  async function determineDue(): Promise<boolean> {
    const now = new Date();
    const due = ledger.register.dueAt(now, STEPS_PER_TURN);
    record(
      due.flatMap(({ caseId, applicationId, status, due: planned }) =>
        planned === null
          ? []
          : [
              {
                step: 'case_determined' as const,
                caseId,
                applicationId,
                at: now.toISOString(),
                outcome: planned.outcome,
                previousStatus: status,
                ids: idsFrom(newIds),
              },
            ],
      ),
    );
    return due.length === STEPS_PER_TURN;
  }
}
