export { createReceiver, type Answer, type Received, type Receiver } from './create-receiver.ts';
export { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from './create-test-database.ts';
export { createTestIssuer, type TestIssuer, type TokenOptions } from './create-test-issuer.ts';
export { testKafka, type TestKafka } from './test-kafka.ts';
export { waitUntil, type WaitOptions } from './wait-until.ts';
