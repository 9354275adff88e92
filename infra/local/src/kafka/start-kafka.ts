import { cpSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { chooseKafka, type KafkaMeans } from './choose-kafka.ts';
import { hasDocker, hasMaven, javaCommand, javaMajor } from '../machine/inspect-machine.ts';
import { kafkaAnswers } from './kafka-answers.ts';
import { fetchKafkaJars, formattedDataDir, hasKafkaJars, javaFlags, kafkaClasspath } from './kafka-jars.ts';
import { kafkaProperties, propertiesFile } from './kafka-properties.ts';
import { launch, type Running } from '../processes/launch.ts';
import { tailOf } from '../processes/log-file.ts';
import { MachineFault } from '../machine/machine-fault.ts';
import type { ProcessLedger } from '../processes/process-ledger.ts';
import { startKafkaContainer } from './start-kafka-container.ts';

export interface KafkaOptions {
  dataDir: string;
  port: number;
  controllerPort: number;
  logFile: string;
  ledger: ProcessLedger;
}

/** `process` is null with brokers of one's own: they are not ours to stop. */
export interface StartedKafka {
  brokers: string[];
  process: Running | null;
}

const startTimeoutMs = 90_000;
const askTimeoutMs = 5_000;

/**
 * Kafka, by the first means that this machine has (see choose-kafka.ts); resolves when it answers.
 * Called again with the same options after it died, it goes on with the same data on the same port.
 */
export async function startKafka(
  options: KafkaOptions,
  environment: NodeJS.ProcessEnv,
): Promise<StartedKafka> {
  const means = await kafkaMeans(environment);
  const choice = chooseKafka(means);
  if (choice.kind === 'none') throw new MachineFault(choice.message);
  if (choice.kind === 'brokers') return { brokers: brokersOf(environment), process: null };
  const running =
    choice.kind === 'java' ? await startWithJava(options, environment) : await startKafkaContainer(options);
  await untilAnswering(running, options);
  return { brokers: [`127.0.0.1:${options.port}`], process: running };
}

async function kafkaMeans(environment: NodeJS.ProcessEnv): Promise<KafkaMeans> {
  const brokers = brokersOf(environment);
  if (brokers.length > 0) {
    const answers = await Promise.all(brokers.map((broker) => kafkaAnswers(broker, askTimeoutMs)));
    const nothing = { javaMajor: undefined, maven: false, jars: false, docker: false };
    return { brokers: brokers.join(','), brokersAnswer: answers.includes(true), ...nothing };
  }
  const [major, maven] = await Promise.all([javaMajor(environment), hasMaven()]);
  const java = { brokers: undefined, brokersAnswer: false, javaMajor: major, maven, jars: hasKafkaJars() };
  const needsDocker = chooseKafka({ ...java, docker: false }).kind === 'none';
  return { ...java, docker: needsDocker && (await hasDocker()) };
}

function brokersOf(environment: NodeJS.ProcessEnv): string[] {
  const brokers = (environment['KAFKA_BROKERS'] ?? '').split(',').map((broker) => broker.trim());
  return brokers.filter((broker) => broker !== '');
}

async function startWithJava(options: KafkaOptions, environment: NodeJS.ProcessEnv): Promise<Running> {
  await fetchKafkaJars(environment, options.ledger);
  const { dataDir, logFile, ledger } = options;
  if (!existsSync(dataDir)) {
    rmSync(`${dataDir}.new`, { recursive: true, force: true });
    cpSync(formattedDataDir(), `${dataDir}.new`, { recursive: true });
    renameSync(`${dataDir}.new`, dataDir);
  }
  const properties = `${dataDir}.properties`;
  writeFileSync(properties, propertiesFile(kafkaProperties(options)));
  const args = [...javaFlags, '-cp', kafkaClasspath(), 'kafka.Kafka', properties];
  return launch({
    name: 'kafka',
    command: javaCommand(environment),
    args,
    logFile,
    ledger,
    stopTimeoutMs: 5_000,
  });
}

async function untilAnswering(running: Running, { port, logFile }: KafkaOptions): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  let ended: string | undefined;
  void running.exited.then((how) => (ended = how));
  while (!(await kafkaAnswers(`127.0.0.1:${port}`, askTimeoutMs))) {
    if (ended !== undefined) throw new MachineFault(`Kafka does not start (${ended}). ${tailOf(logFile)}`);
    if (Date.now() > deadline) {
      await running.stop();
      throw new MachineFault(`Kafka does not answer within ${startTimeoutMs / 1000} s. ${tailOf(logFile)}`);
    }
    await sleep(50);
  }
}
