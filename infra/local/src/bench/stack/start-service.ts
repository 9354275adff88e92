import { join } from 'node:path';
import { paths } from '../../machine/paths.ts';
import type { Service } from '../../platform/services.ts';
import { launch } from '../../processes/launch.ts';
import { tailOf } from '../../processes/log-file.ts';
import { untilReady } from '../../processes/until-ready.ts';
import { throwawayServiceEnvironment } from '../../test-run/throwaway-service-environment.ts';
import type { Bench } from './bench.ts';

export interface StartedService {
  pid: number;
  /** Where its interface is, without a path. */
  url: string;
  logFile: string;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  databaseUrl: string;
  topicPrefix: string;
  environment?: NodeJS.ProcessEnv;
  nodeFlags?: string[];
}

/** A service as it is run in production, from what was built; resolves when it is ready. */
export async function startService(
  bench: Bench,
  service: Service,
  { databaseUrl, topicPrefix, environment = {}, nodeFlags = [] }: ServiceOptions,
): Promise<StartedService> {
  const { stack, issuer, folder } = bench;
  const logFile = join(folder, `${service}.log`);
  const env: NodeJS.ProcessEnv = {
    ...(await throwawayServiceEnvironment(service, databaseUrl, stack, issuer)),
    KAFKA_TOPIC_PREFIX: topicPrefix,
    RATE_LIMIT_PER_SECOND: '1000000',
    ...environment,
  };
  const profiled = bench.profile ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [];
  const running = launch({
    name: service,
    command: process.execPath,
    args: [...profiled, ...nodeFlags, 'dist/main.js'],
    cwd: join(paths.apps, service),
    env,
    logFile,
    ledger: stack.ledger,
  });
  try {
    await untilReady(env['OPS_PORT'] ?? '', running.exited);
  } catch (error) {
    await running.stop();
    throw new Error(`${service}: ${(error as Error).message}\n${tailOf(logFile)}`, { cause: error });
  }
  return { pid: running.pid, url: `http://127.0.0.1:${env['HTTP_PORT']}`, logFile, stop: running.stop };
}

/** A dispatcher that may deliver to this machine. */
export const startDispatcher = (bench: Bench, options: ServiceOptions): Promise<StartedService> =>
  startService(bench, 'webhook-dispatcher', {
    ...options,
    environment: { CALLBACK_RULES: 'sandbox', ...options.environment },
  });
