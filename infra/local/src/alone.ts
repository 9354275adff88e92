// npm run alone [-- applications …]: each service from a tree that holds nothing but what it needs, as its team ships it.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createTestIssuer, type TestIssuer } from '@assistance/test-kit';
import { provisionLocalTopics } from './kafka/provision-local-topics.ts';
import { MachineFault } from './machine/machine-fault.ts';
import { Progress, seconds } from './machine/progress.ts';
import { turbo } from './machine/turbo.ts';
import { services, type Service } from './platform/services.ts';
import { createDatabases, databaseUrl } from './postgres/create-databases.ts';
import { launch } from './processes/launch.ts';
import { tailOf } from './processes/log-file.ts';
import { runQuietly } from './processes/run-quietly.ts';
import { onStopSignal } from './processes/stop-signal.ts';
import { untilReady } from './processes/until-ready.ts';
import { throwawayServiceEnvironment } from './test-run/throwaway-service-environment.ts';
import { withThrowawayStack, type ThrowawayStack } from './test-run/throwaway-stack.ts';

const pnpm = 'pnpm@10.34.9';
const progress = new Progress();
const stopping = new AbortController();
onStopSignal(() => stopping.abort());

interface Figures {
  service: Service;
  tree: string;
  production: string;
  install: string;
  build: string;
  ready: string;
  stop: string;
}

try {
  console.table(await main(process.argv.slice(2)));
} catch (error) {
  progress.end();
  if (!(error instanceof MachineFault)) throw error;
  console.error(`\n${error.message}`);
  process.exitCode = 1;
}

async function main(names: string[]): Promise<Figures[]> {
  const unknown = names.find((name) => !services.some((service) => service === name));
  if (unknown !== undefined)
    throw new MachineFault(`There is no service "${unknown}". Services: ${services.join(', ')}.`);
  const wanted = services.filter((service) => names.length === 0 || names.includes(service));
  return withThrowawayStack({ kafka: true, signal: stopping.signal }, async (stack) => {
    const passwords = { applications: 'alone', subscriptions: 'alone', 'webhook-dispatcher': 'alone' };
    await createDatabases(stack.postgresUrl, passwords);
    await provisionLocalTopics(stack.brokers, '');
    const issuer = await createTestIssuer();
    const figures: Figures[] = [];
    for (const service of wanted) figures.push(await shipAndRun(service, stack, issuer));
    await issuer.close();
    return figures;
  });
}

async function shipAndRun(service: Service, stack: ThrowawayStack, issuer: TestIssuer): Promise<Figures> {
  const tree = mkdtempSync(join(tmpdir(), `assistance-alone-${service}-`));
  const home = join(tree, 'apps', service);
  const databaseOfService = databaseUrl(stack.postgresUrl, service, 'alone');
  const run = (name: string, command: string, args: string[], cwd = tree, env = toolEnvironment(tree)) =>
    step(`${service}: ${name}`, async () => {
      const { code, output } = await runQuietly({ name, command, args, cwd, env, ledger: stack.ledger });
      if (code !== 0) throw new MachineFault(`${service}: ${name} ended with ${code}.\n${output}`);
    });
  try {
    const prune = turbo('prune', `@assistance/${service}`, '--out-dir', tree);
    await run('prune', prune.command, prune.args, prune.cwd, prune.env);
    const install = ['--yes', pnpm, 'install', '--frozen-lockfile', '--reporter=append-only'];
    const installMs = await run('install, frozen', 'npx', install);
    const treeSize = await sizeOf(tree, stack);
    const buildMs = await run('build', process.execPath, [
      join(tree, 'node_modules', 'turbo', 'bin', 'turbo'),
      ...['run', 'build', `--filter=@assistance/${service}`],
    ]);
    remove(tree, 'node_modules');
    await run('production dependencies only', 'npx', [...install, '--prod']);
    remove(tree, 'src');
    remove(tree, 'test');
    const productionSize = await sizeOf(tree, stack);
    const migrate = { PATH: process.env['PATH'], DATABASE_URL: databaseOfService };
    await run('migrate', process.execPath, ['dist/migrate.js'], home, migrate);
    const environment = await throwawayServiceEnvironment(service, databaseOfService, stack, issuer);
    const { readyMs, stopMs } = await startAndStop(service, home, environment, stack);
    return {
      service,
      tree: treeSize,
      production: productionSize,
      install: seconds(installMs),
      build: seconds(buildMs),
      ready: seconds(readyMs),
      stop: seconds(stopMs),
    };
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

async function startAndStop(
  service: Service,
  home: string,
  environment: NodeJS.ProcessEnv,
  { ledger }: ThrowawayStack,
): Promise<{ readyMs: number; stopMs: number }> {
  const logFile = join(home, 'alone.log');
  const startedAt = performance.now();
  const running = launch({
    name: service,
    command: process.execPath,
    args: ['dist/main.js'],
    cwd: home,
    env: environment,
    logFile,
    ledger,
  });
  try {
    const readyMs = await step(`${service}: ready by itself`, () =>
      untilReady(environment['OPS_PORT'] ?? '', running.exited),
    );
    return { readyMs: Math.min(readyMs, performance.now() - startedAt), stopMs: await stop() };
  } catch (error) {
    await running.stop();
    throw new MachineFault(`${service}: ${(error as Error).message}\n${tailOf(logFile)}`);
  }

  async function stop(): Promise<number> {
    const stoppedAt = performance.now();
    await running.stop();
    const how = await running.exited;
    if (how !== 'exit code 0') throw new Error(`it was to stop gracefully, and ended with ${how}.`);
    return performance.now() - stoppedAt;
  }
}

/** Nothing of this repository's own packages is to be found by accident. */
function toolEnvironment(tree: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: [dirname(process.execPath), join(tree, 'node_modules', '.bin'), process.env['PATH']].join(
      delimiter,
    ),
    CI: 'true', // pnpm may replace node_modules without asking
    TURBO_TELEMETRY_DISABLED: '1',
  };
}

/** Of the tree and of each package in it. An image has neither sources nor what only building needs. */
function remove(tree: string, folder: string): void {
  const packages = ['apps', 'packages'].flatMap((parent) =>
    readdirSync(join(tree, parent)).map((name) => join(tree, parent, name)),
  );
  for (const path of [tree, ...packages]) rmSync(join(path, folder), { recursive: true, force: true });
}

async function sizeOf(folder: string, { ledger }: ThrowawayStack): Promise<string> {
  const { output } = await runQuietly({ name: 'du', command: 'du', args: ['-sk', folder], ledger });
  return `${Math.round(Number.parseInt(output, 10) / 1024)} MB`;
}

/** Shows that it is alive; answers how long it took. */
async function step(name: string, work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  stopping.signal.throwIfAborted();
  await progress.step(name, work);
  return performance.now() - startedAt;
}
