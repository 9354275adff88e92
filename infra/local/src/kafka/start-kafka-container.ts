import { createHash } from 'node:crypto';
import { outputOf } from '../machine/inspect-machine.ts';
import { kafkaProperties, kafkaVariables } from './kafka-properties.ts';
import { launch, type Running } from '../processes/launch.ts';
import { MachineFault } from '../machine/machine-fault.ts';
import type { ProcessLedger } from '../processes/process-ledger.ts';
import { runQuietly } from '../processes/run-quietly.ts';
import type { KafkaOptions } from './start-kafka.ts';

const image = 'apache/kafka:4.4.0';
const portInside = 9092;
const controllerPortInside = 9093;
const dataInside = '/var/lib/kafka/data';

/** The same Kafka in a container, its data in a volume that `npm run reset` removes. */
export async function startKafkaContainer(options: KafkaOptions): Promise<Running> {
  const name = containerName(options.dataDir);
  await outputOf('docker', ['rm', '--force', name]); // one that outlived whoever started it
  await pullImage(options.ledger);
  const properties = {
    ...kafkaProperties({ port: portInside, controllerPort: controllerPortInside, dataDir: dataInside }),
    listeners: `PLAINTEXT://:${portInside},CONTROLLER://127.0.0.1:${controllerPortInside}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${options.port}`,
  };
  const variables = Object.entries(kafkaVariables(properties)).flatMap(([key, value]) => [
    '-e',
    `${key}=${value}`,
  ]);
  const running = launch({
    name: 'kafka',
    command: 'docker',
    args: [
      ...['run', '--rm', '--init', '--name', name, '--user', 'root', '-v', `${name}:${dataInside}`],
      ...['-p', `127.0.0.1:${options.port}:${portInside}`, ...variables, image],
    ],
    logFile: options.logFile,
    ledger: options.ledger,
  });
  return {
    ...running,
    stop: async () => {
      await outputOf('docker', ['rm', '--force', name]);
      await running.stop();
    },
  };
}

async function pullImage(ledger: ProcessLedger): Promise<void> {
  if ((await outputOf('docker', ['image', 'inspect', image])).code === 0) return;
  const { code, output } = await runQuietly({
    name: 'docker',
    command: 'docker',
    args: ['pull', '-q', image],
    ledger,
  });
  if (code !== 0)
    throw new MachineFault(`Docker cannot fetch ${image}. Is the registry reachable?\n${output}`);
}

export async function removeKafkaVolume(dataDir: string): Promise<void> {
  await outputOf('docker', ['rm', '--force', containerName(dataDir)]);
  await outputOf('docker', ['volume', 'rm', '--force', containerName(dataDir)]);
}

function containerName(dataDir: string): string {
  return `assistance-kafka-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`;
}
