import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { createKafkaProxy, testKafka, waitUntil, type TcpProxy } from '../src/index.ts';

const { brokers, topicPrefix } = testKafka();
let proxy: TcpProxy;

beforeAll(async () => {
  proxy = await createKafkaProxy({ to: brokers[0]! });
});
afterAll(() => proxy.close());

test('a client that came through the proxy stays behind it', async () => {
  const kafka = new Kafka({ brokers: [proxy.address], logLevel: logLevel.NOTHING, retry: { retries: 20 } });
  const admin = kafka.admin();
  const producer = kafka.producer();
  await admin.connect();
  const { brokers: told } = await admin.describeCluster();
  expect(told.map(({ port }) => port)).toEqual([proxy.port]);
  await admin.createTopics({
    waitForLeaders: false,
    topics: [{ topic: `${topicPrefix}t`, numPartitions: 1 }],
  });
  await producer.connect();
  const send = () => producer.send({ topic: `${topicPrefix}t`, messages: [{ value: 'x'.repeat(100_000) }] });
  await send();

  await proxy.cut();
  let sent = false;
  const sending = send().then(() => (sent = true));
  // Time enough for an acknowledgement that should not come.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(sent).toBe(false);
  await proxy.restore();
  await sending;
  await waitUntil(async () => (await admin.fetchTopicOffsets(`${topicPrefix}t`))[0]?.high === '2');
  await Promise.all([producer.disconnect(), admin.disconnect()]);
});
