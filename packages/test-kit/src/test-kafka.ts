import { randomBytes } from 'node:crypto';
import { testAddress } from './test-address.ts';

export interface TestKafka {
  brokers: string[];
  /** Differs with each call: put before the names of topics and groups, it keeps tests apart. */
  topicPrefix: string;
}

/** The Kafka that all tests of this run share. */
export function testKafka(): TestKafka {
  return {
    brokers: testAddress('TEST_KAFKA_BROKERS').split(','),
    topicPrefix: `t${randomBytes(5).toString('hex')}.`,
  };
}
