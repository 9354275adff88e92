import { Kafka, logLevel, Partitioners, type Producer } from 'kafkajs';
import { syntheticEvent, type SyntheticEvent } from './synthetic-event.ts';

const perBatch = 500;

/** A producer as any other system's. */
export async function connectProducer(brokers: string[]): Promise<Producer> {
  const kafka = new Kafka({ clientId: 'bench', brokers, logLevel: logLevel.ERROR });
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  return producer;
}

/** Publishes so many events, of each type in turn; resolves when Kafka has acknowledged all. */
export async function publishEvents(options: {
  brokers: string[];
  topicPrefix: string;
  types: readonly string[];
  count: number;
}): Promise<void> {
  const { brokers, topicPrefix, types, count } = options;
  const producer = await connectProducer(brokers);
  for (let start = 0; start < count; start += perBatch) {
    const size = Math.min(perBatch, count - start);
    const events = Array.from({ length: size }, (_, index) =>
      syntheticEvent(types[(start + index) % types.length]!),
    );
    await producer.sendBatch({ acks: -1, topicMessages: messagesOf(events, topicPrefix) });
  }
  await producer.disconnect();
}

export function messagesOf(events: SyntheticEvent[], topicPrefix: string) {
  const byTopic = Map.groupBy(events, ({ topic }) => topic);
  return [...byTopic].map(([topic, ofTopic]) => ({
    topic: topicPrefix + topic,
    messages: ofTopic.map(({ subject, body }) => ({
      key: subject,
      value: body,
      headers: { 'content-type': 'application/cloudevents+json; charset=UTF-8' },
    })),
  }));
}
