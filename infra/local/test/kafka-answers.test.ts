import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { kafkaAnswers } from '../src/kafka/kafka-answers.ts';

test('a broker answers', async () => {
  const [broker] = process.env['TEST_KAFKA_BROKERS']!.split(',');
  expect(await kafkaAnswers(broker!, 5_000)).toBe(true);
});

test.each([
  ['says something else', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
  ['says nothing', ''],
])('a server that %s is no broker', async (_, words) => {
  const server = createServer((socket) => socket.write(words)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  expect(await kafkaAnswers(`127.0.0.1:${(server.address() as AddressInfo).port}`, 200)).toBe(false);
  server.close();
});

test.each(['127.0.0.1:1', 'localhost', 'host:', ':9092', 'host:99999'])(
  'nobody answers at %s',
  async (broker) => {
    expect(await kafkaAnswers(broker, 1_000)).toBe(false);
  },
);
