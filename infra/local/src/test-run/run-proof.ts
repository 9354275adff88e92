import { join } from 'node:path';
import { localDirOf, paths } from '../machine/paths.ts';
import { turbo } from '../machine/turbo.ts';
import { runCommand } from '../processes/run-command.ts';
import { onStopSignal } from '../processes/stop-signal.ts';
import { withThrowawayStack } from './throwaway-stack.ts';

/**
 * Runs a long proof of one service, a program among its tests, on a Postgres and a Kafka of its own; it appends what held
 * to `.local/<name>/results.jsonl` and finds there how far it came before. Answers the exit code.
 */
export async function runProof(name: string, app: string, program: string): Promise<number> {
  const stopping = new AbortController();
  const { signal } = stopping;
  onStopSignal(() => stopping.abort());
  try {
    return await withThrowawayStack({ kafka: true, signal }, async ({ postgresUrl, brokers, ledger }) => {
      const generate = turbo('run', 'generate', `--filter=@assistance/${app}`, '--output-logs=errors-only');
      const generated = await runCommand({ ...generate, ledger, signal });
      if (generated.code !== 0) return generated.code;
      const { code } = await runCommand({
        ...{ command: process.execPath, args: ['--conditions=source', program] },
        ...{ cwd: join(paths.apps, app), ledger, signal },
        env: {
          ...process.env,
          TEST_POSTGRES_URL: postgresUrl,
          TEST_KAFKA_BROKERS: brokers.join(','),
          RESULTS: join(localDirOf(process.env), name, 'results.jsonl'),
        },
      });
      return code;
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    return 130;
  }
}
