import { z } from 'zod';
import { eventType, topicOfEvent } from '@assistance/types';
import {
  route,
  structuredRecord,
  unavailable,
  type OutgoingRecord,
  type RecordPublisher,
  type Route,
} from '@assistance/service-kit';
import { syntheticEvent } from './synthetic-event.ts';

const RECORDS_PER_SEND = 500;
/** Below the limit of a whole request, so that the caller gets an answer while Kafka is away. */
const PUBLISH_TIMEOUT_MS = 20_000;

const wish = z.strictObject({
  type: eventType,
  count: z.int().min(1).max(10_000).nullish(),
  /** What all of them are about; without it each is about something of its own. */
  subject: z
    .string()
    .regex(/^[!-~]([ -~]{0,126}[!-~])?$/, { error: 'must be 1 to 128 printable ASCII characters' })
    .nullish(),
});

export function eventRoutes({ publisher }: { publisher: RecordPublisher }): Route[] {
  return [
    route({
      method: 'post',
      path: '/events',
      scope: 'any',
      body: wish,
      async handle({ body: { type, count, subject } }) {
        const events = Array.from({ length: count ?? 1 }, () =>
          syntheticEvent(type, subject ?? undefined, new Date()),
        );
        const topic = topicOfEvent[type].name;
        await publishAll(
          publisher,
          events.map((event) => structuredRecord(topic, event)),
        );
        return { status: 202, body: { eventIds: events.map(({ id }) => id) } };
      },
    }),
  ];
}

/** Resolves when Kafka has acknowledged every record. On 503 some may have been published all the same. */
async function publishAll(publisher: RecordPublisher, records: OutgoingRecord[]): Promise<void> {
  const overdue = AbortSignal.timeout(PUBLISH_TIMEOUT_MS);
  const giveUp = new Promise<never>((_resolve, reject) => {
    overdue.addEventListener('abort', () => reject(new Error('Kafka did not acknowledge in time')));
  });
  const publish = async (): Promise<void> => {
    for (let start = 0; start < records.length && !overdue.aborted; start += RECORDS_PER_SEND) {
      await publisher.publish(records.slice(start, start + RECORDS_PER_SEND));
    }
  };
  try {
    await Promise.race([publish(), giveUp]);
  } catch (error) {
    throw unavailable(error);
  }
}
