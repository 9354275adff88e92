import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import got from 'got';
import { startControlServer } from '../processes/control-server.ts';
import { createDatabases, databaseUrl } from '../postgres/create-databases.ts';
import { launch } from '../processes/launch.ts';
import { claimLocalDir, localFiles, releaseLocalDir } from './local-dir.ts';
import { boundLogs, tailOf } from '../processes/log-file.ts';
import { KeptFile } from '../machine/kept-file.ts';
import { MachineFault } from '../machine/machine-fault.ts';
import { paths } from '../machine/paths.ts';
import { platformAddresses, type PlatformAddresses } from './platform-addresses.ts';
import { describePlatform, readClients, type Platform } from './platform-file.ts';
import type { PlatformSettings } from './platform-settings.ts';
import { checkGatewayPort } from '../machine/ports.ts';
import { sandboxEnvironment, serviceEnvironment, type Surroundings } from './process-environment.ts';
import { endLeftBehind, ProcessLedger } from '../processes/process-ledger.ts';
import type { Progress } from '../machine/progress.ts';
import { provisionLocalTopics } from '../kafka/provision-local-topics.ts';
import { runQuietly } from '../processes/run-quietly.ts';
import { loadSecrets, type Secrets } from './secrets.ts';
import { instancesOf, services, type Service } from './services.ts';
import { startKafka } from '../kafka/start-kafka.ts';
import { startPostgres } from '../postgres/start-postgres.ts';
import { startReaper } from '../processes/start-reaper.ts';
import type { SupervisedProcess } from '../processes/supervised-process.ts';
import { Supervisor } from '../processes/supervisor.ts';
import { turbo } from '../machine/turbo.ts';

const readyTimeoutMs = 60_000;
const nodeFlags = ['--conditions=source', '--disable-warning=ExperimentalWarning'];

/** The whole platform on this machine: started in the order of need, kept up, stopped without a trace. */
export class LocalPlatform {
  readonly #settings: PlatformSettings;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #progress: Progress;
  readonly #files: ReturnType<typeof localFiles>;
  readonly #ledger: ProcessLedger;
  readonly #supervisor: Supervisor;
  readonly #platformFile: KeptFile;
  readonly #closers: (() => void)[] = [];
  #describe: (() => Platform) | undefined;
  #claimed = false;
  #closing: Promise<void> | undefined;

  constructor(settings: PlatformSettings, environment: NodeJS.ProcessEnv, progress: Progress) {
    this.#settings = settings;
    this.#files = localFiles(settings.localDir);
    this.#environment = { ...environment, NODE_COMPILE_CACHE: this.#files.compileCache };
    this.#progress = progress;
    this.#ledger = new ProcessLedger(this.#files.ledger);
    this.#platformFile = new KeptFile(this.#files.platform);
    this.#supervisor = new Supervisor({
      onChange: () => this.#writePlatformFile(),
      onTrouble: (line) => progress.say(`  ! ${line}`),
    });
  }

  /** Resolves when every service is ready. Rejects with a MachineFault when something of the machine is in the way. */
  async open(): Promise<Platform> {
    const addresses = await this.#takePossession();
    const secrets = loadSecrets(this.#files.secrets);
    const [databases, brokers] = await Promise.all([
      this.#openDatabases(addresses, secrets),
      this.#openKafka(addresses),
      this.#generateClients(),
    ]);
    const surroundings: Surroundings = {
      ...{ settings: this.#settings, addresses, secrets, brokers, databases },
      environment: this.#environment,
    };
    const control = await startControlServer(addresses.port('control'), this.#supervisor);
    this.#closers.push(() => control.close());
    await this.#progress.step('Services and sandbox', () => this.#openServices(surroundings));
    const clients = readClients(this.#files.sandbox);
    this.#describe = () => describePlatform(surroundings, clients, this.#supervisor.pids());
    this.#writePlatformFile();
    return this.#describe();
  }

  /** Resolves when no process of the platform is left. May be called at any time, also while it opens. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    if (!this.#claimed) return;
    this.#ledger.close();
    for (const close of this.#closers) close();
    this.#platformFile.remove();
    await this.#supervisor.closeServices();
    await endLeftBehind(this.#files.ledger); // also what is only about to start, and tools that still run
    await this.#supervisor.close();
    releaseLocalDir(this.#settings.localDir);
  }

  async #takePossession(): Promise<PlatformAddresses> {
    const { localDir, port } = this.#settings;
    const ended = await claimLocalDir(localDir, `http://localhost:${port}`);
    this.#claimed = true;
    if (ended.length > 0) this.#progress.say(`  Ended what an earlier run left behind: ${ended.join(', ')}`);
    startReaper(this.#ledger, [this.#files.platform, this.#files.owner]);
    const logs = boundLogs(this.#files.logs);
    this.#closers.push(() => logs.stop());
    await checkGatewayPort(port);
    return platformAddresses(this.#settings, this.#files.ports);
  }

  async #openDatabases(addresses: PlatformAddresses, secrets: Secrets): Promise<Record<Service, string>> {
    const postgresOptions = {
      dataDir: this.#files.postgres,
      port: addresses.port('postgres'),
      password: secrets.postgresPassword,
      logFile: this.#logOf('postgres'),
      ledger: this.#ledger,
    };
    let superuserUrl = '';
    await this.#progress.step('Postgres', async () => {
      const start = async () => {
        const running = await startPostgres(postgresOptions);
        superuserUrl = running.url;
        return running;
      };
      await this.#supervisor.open({ name: 'postgres', start });
    });
    const urls = services.map(
      (service) => [service, databaseUrl(superuserUrl, service, secrets.databasePasswords[service])] as const,
    );
    await this.#progress.step('Three databases, migrated', async () => {
      await createDatabases(superuserUrl, secrets.databasePasswords);
      await Promise.all(urls.map(([service, url]) => this.#migrate(service, url)));
    });
    return Object.fromEntries(urls) as Record<Service, string>;
  }

  async #migrate(service: Service, url: string): Promise<void> {
    const { code, output } = await runQuietly({
      name: `migrate-${service}`,
      command: process.execPath,
      args: [...nodeFlags, 'src/migrate.ts'],
      cwd: join(paths.apps, service),
      env: { ...this.#environment, DATABASE_URL: url },
      ledger: this.#ledger,
    });
    if (code !== 0) throw new MachineFault(`The database of ${service} could not be migrated:\n${output}`);
  }

  async #openKafka(addresses: PlatformAddresses): Promise<string[]> {
    const kafkaOptions = {
      dataDir: this.#files.kafka,
      port: addresses.port('kafka'),
      controllerPort: addresses.port('kafka-controller'),
      logFile: this.#logOf('kafka'),
      ledger: this.#ledger,
    };
    let brokers: string[] = [];
    await this.#progress.step('Kafka', async () => {
      const started = await startKafka(kafkaOptions, this.#environment);
      ({ brokers } = started);
      if (started.process === null) return;
      let first: typeof started.process | null = started.process;
      const start = async () => {
        const running = first ?? (await startKafka(kafkaOptions, this.#environment)).process;
        first = null;
        if (running === null) throw new Error('Kafka is no longer ours to start');
        return running;
      };
      await this.#supervisor.open({ name: 'kafka', start });
    });
    const prefix = this.#environment['KAFKA_TOPIC_PREFIX'] ?? '';
    await this.#progress.step('Topics', () => provisionLocalTopics(brokers, prefix));
    return brokers;
  }

  async #generateClients(): Promise<void> {
    const command = turbo('run', 'generate', '--output-logs=errors-only');
    const { code, output } = await runQuietly({ name: 'generate', ...command, ledger: this.#ledger });
    if (code !== 0) throw new MachineFault(`The database clients could not be generated:\n${output}`);
  }

  async #openServices(surroundings: Surroundings): Promise<void> {
    const { ops } = surroundings.addresses;
    const openNode = (name: string, app: string, env: NodeJS.ProcessEnv) =>
      this.#supervisor.open({
        name,
        start: async () =>
          launch({
            ...{ name, command: process.execPath, args: [...nodeFlags, 'src/main.ts'] },
            ...{ cwd: join(paths.apps, app), env, logFile: this.#logOf(name), ledger: this.#ledger },
            stopTimeoutMs: 11_000, // a service has 10 s to stop by itself
          }),
      });
    await Promise.all([
      openNode('sandbox', 'sandbox', sandboxEnvironment(surroundings, this.#files.sandbox)).then((sandbox) =>
        this.#untilReady(sandbox, ops['sandbox']!),
      ),
      ...instancesOf(this.#settings.instances).map(async (instance) => {
        const { name, service } = instance;
        const opened = await openNode(name, service, serviceEnvironment(instance, surroundings));
        await this.#untilReady(opened, ops[name]!);
      }),
    ]);
  }

  async #untilReady(supervised: SupervisedProcess, ops: string): Promise<void> {
    const deadline = Date.now() + readyTimeoutMs;
    const { name } = supervised;
    let ended: string | undefined;
    void supervised.exited?.then((how) => (ended = how));
    let missing = 'it does not answer';
    while (Date.now() < deadline) {
      this.#ledger.checkOpen();
      if (ended !== undefined)
        throw new MachineFault(`${name} ended (${ended}). ${tailOf(this.#logOf(name))}`);
      try {
        const answer = await got(`${ops}/readyz`, {
          throwHttpErrors: false,
          retry: { limit: 0 },
          timeout: { request: 2_000 },
        });
        if (answer.statusCode === 200) return;
        missing = answer.body;
      } catch {
        // not yet listening
      }
      await sleep(50);
    }
    throw new MachineFault(
      `${name} is not ready within ${readyTimeoutMs / 1000} s (${missing}). ${tailOf(this.#logOf(name))}`,
    );
  }

  #writePlatformFile(): void {
    if (this.#describe === undefined || this.#closing !== undefined) return;
    this.#platformFile.write(this.#describe());
  }

  #logOf(name: string): string {
    return join(this.#files.logs, `${name}.log`);
  }
}
