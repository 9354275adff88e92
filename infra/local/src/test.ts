// npm test [-- turbo's arguments, e.g. --filter=@assistance/types]
import { countTests } from './test-run/count-tests.ts';
import { MachineFault } from './machine/machine-fault.ts';
import { Progress, seconds } from './machine/progress.ts';
import { runCommand } from './processes/run-command.ts';
import { onStopSignal } from './processes/stop-signal.ts';
import { withThrowawayStack, type ThrowawayStack } from './test-run/throwaway-stack.ts';
import { turbo } from './machine/turbo.ts';

const startedAt = performance.now();
const longestRunMs = 20 * 60_000;
const stopping = new AbortController();
onStopSignal(() => stopping.abort());
setTimeout(() => {
  console.error(
    `\nStopped after ${seconds(longestRunMs)}: some test does not end. The last lines above say whose.`,
  );
  stopping.abort();
}, longestRunMs).unref();
try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!stopping.signal.aborted && !(error instanceof MachineFault)) throw error;
  if (error instanceof MachineFault) console.error(`\n${error.message}`);
  process.exitCode = stopping.signal.aborted ? 130 : 1;
}

/** All packages' tests on one Postgres and one Kafka, then those of the whole platform. */
async function main(args: string[]): Promise<number> {
  const { promise: ready, resolve: onReady } = Promise.withResolvers<void>();
  const progress = new Progress();
  const shown = progress.step('Postgres and Kafka for the tests', () => ready);
  const { outputs, green } = await withThrowawayStack(
    { kafka: true, signal: stopping.signal, onReady },
    async (stack) => {
      await shown;
      const run = (...turboArgs: string[]) => runTurbo(stack, [...turboArgs, ...args]);
      const packages = await run('test', '--concurrency=2', '--continue');
      const platform = await run('test:platform', '--concurrency=1', '--env-mode=loose');
      return {
        outputs: packages.output + platform.output,
        green: packages.code === 0 && platform.code === 0,
      };
    },
  ).finally(() => progress.end());
  const { passed, failed } = countTests(outputs);
  console.log(`\nAll tests took ${seconds(performance.now() - startedAt)}.`);
  console.log(`${passed} passed, ${failed} failed`);
  return green && failed === 0 ? 0 : 1;
}

function runTurbo({ postgresUrl, brokers, ledger }: ThrowawayStack, args: string[]) {
  const command = turbo('run', ...args);
  const env = {
    ...command.env,
    TEST_POSTGRES_URL: postgresUrl,
    TEST_KAFKA_BROKERS: brokers.join(','),
    NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --experimental-vm-modules --disable-warning=ExperimentalWarning`,
  };
  return runCommand({ ...command, env, ledger, signal: stopping.signal });
}
