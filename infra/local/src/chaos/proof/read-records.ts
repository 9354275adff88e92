import { createHash } from 'node:crypto';
import { z } from 'zod';
import { offsetsOf, readTopics } from '../../kafka/read-topics.ts';

const topicsOfServices = [
  'assistance.events.application-decided.v1',
  'assistance.events.case-status-changed.v1',
];
const deadLetterTopics = ['applications', 'subscriptions', 'webhook-dispatcher'].map(
  (service) => `assistance.${service}.dlq`,
);
const event = z.object({ id: z.string() });

/** The bytes of the events that services published, as digests by id: more than one if an id was used for two. */
export async function readRecords(brokers: string[], topicPrefix: string): Promise<Map<string, Set<string>>> {
  const digests = new Map<string, Set<string>>();
  const topics = topicsOfServices.map((name) => topicPrefix + name);
  await readTopics(brokers, topics, ({ value }) => {
    const { id } = event.parse(JSON.parse(String(value)));
    const digest = createHash('sha256').update(value!).digest('hex');
    digests.set(id, (digests.get(id) ?? new Set()).add(digest));
  });
  return digests;
}

/** How many records lie in the dead-letter topics. */
export async function countDeadLetters(brokers: string[], topicPrefix: string): Promise<number> {
  let count = 0;
  for (const topic of deadLetterTopics) {
    for (const { high, low } of await offsetsOf(brokers, topicPrefix + topic)) count += high - low;
  }
  return count;
}
