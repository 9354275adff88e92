import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { javaCommand } from '../machine/inspect-machine.ts';
import { kafkaProperties, propertiesFile } from './kafka-properties.ts';
import { MachineFault } from '../machine/machine-fault.ts';
import { paths } from '../machine/paths.ts';
import type { ProcessLedger } from '../processes/process-ledger.ts';
import { runQuietly } from '../processes/run-quietly.ts';

const pom = join(paths.kafkaConfig, 'pom.xml');

export const javaFlags = [
  '-Xms128m',
  '-Xmx384m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  `-Dlog4j2.configurationFile=file:${join(paths.kafkaConfig, 'log4j2.xml')}`,
];

/** Kafka's jars and an empty, formatted data folder to copy. Kept beside the packages, so a reset downloads nothing. */
function cacheDir(): string {
  const version = createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 16);
  return join(paths.cache, `kafka-${version}`);
}

export const hasKafkaJars = (): boolean => existsSync(cacheDir());
export const kafkaClasspath = (): string => join(cacheDir(), 'lib', '*');
export const formattedDataDir = (): string => join(cacheDir(), 'formatted');

/** Downloads the jars with Maven unless that was done before; an interrupted download leaves nothing half-done. */
export async function fetchKafkaJars(environment: NodeJS.ProcessEnv, ledger: ProcessLedger): Promise<void> {
  if (hasKafkaJars()) return;
  const newDir = `${cacheDir()}.${process.pid}`;
  rmSync(newDir, { recursive: true, force: true });
  mkdirSync(newDir, { recursive: true });
  const repository = environment['MAVEN_REPO_LOCAL'];
  const extra = (environment['MAVEN_ARGS'] ?? '').split(' ').filter((argument) => argument !== '');
  const lib = join(newDir, 'lib');
  await run('mvn', [
    ...['-B', '-q', '-ntp', '-f', pom, ...extra],
    ...(repository === undefined ? [] : [`-Dmaven.repo.local=${repository}`]),
    ...['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${lib}`],
  ]);
  const properties = join(newDir, 'format.properties');
  const addresses = { port: 1, controllerPort: 2, dataDir: join(newDir, 'formatted') };
  writeFileSync(properties, propertiesFile(kafkaProperties(addresses)));
  const clusterId = Buffer.from('assistance-local').toString('base64url');
  const format = ['kafka.tools.StorageTool', 'format', '-t', clusterId, '-c', properties];
  await run(javaCommand(environment), [...javaFlags, '-cp', join(lib, '*'), ...format]);
  if (!hasKafkaJars()) renameSync(newDir, cacheDir());
  else rmSync(newDir, { recursive: true, force: true });

  async function run(command: string, args: string[]): Promise<void> {
    const { code, output } = await runQuietly({ name: command, command, args, ledger });
    if (code === 0) return;
    rmSync(newDir, { recursive: true, force: true });
    const first = stripVTControlCharacters(output).split('\n').slice(0, 5).join('\n');
    throw new MachineFault(
      `Kafka cannot be fetched (${command}: code ${code}). Is the Maven repository reachable (settings.xml, proxy)?\n${first}`,
    );
  }
}
