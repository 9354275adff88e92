import { expect, test } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { testKafka } from '../src/index.ts';

test('two callers get the same brokers and prefixes of their own', async () => {
  const [one, other] = [testKafka(), testKafka()];
  expect(one.brokers).toEqual(other.brokers);
  expect(one.topicPrefix).not.toBe(other.topicPrefix);

  const admin = new Kafka({ brokers: one.brokers, logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic: `${one.topicPrefix}thing` }] });
  const topics = await admin.listTopics();
  expect(topics.filter((topic) => topic.startsWith(one.topicPrefix))).toEqual([`${one.topicPrefix}thing`]);
  expect(topics.filter((topic) => topic.startsWith(other.topicPrefix))).toEqual([]);
  await admin.disconnect();
});
