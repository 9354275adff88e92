export { createAnswerCheck, type AnswerCheck, type AnswerToCheck } from './create-answer-check.ts';
export { createReceiver, type Answer, type Received, type Receiver } from './create-receiver.ts';
export { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from './create-test-database.ts';
export { createTestIssuer, type TestIssuer, type TokenOptions } from './create-test-issuer.ts';
export { testKafka, type TestKafka } from './test-kafka.ts';
export { waitUntil, type WaitOptions } from './wait-until.ts';
export { createKafkaProxy } from './create-kafka-proxy.ts';
export { createTcpProxy, type TcpProxy, type TcpProxyOptions } from './create-tcp-proxy.ts';
export { createWays, type Ways } from './create-ways.ts';
export { freePort } from './free-port.ts';
export { holdStatements, type Hold, type HoldOptions } from './hold-statements.ts';
export {
  startServiceProcess,
  type ServiceProcess,
  type ServiceProcessOptions,
} from './start-service-process.ts';
export { refuseForSpace, type SpaceRefusal } from './refuse-for-space.ts';
export { migrateFurther } from './migrate-further.ts';
export { runCommand, type CommandOptions } from './run-command.ts';
export { staySilent } from './stay-silent.ts';
