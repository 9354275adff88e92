// npm run model: RUNS (2000) random histories of the applications service against a reference model of its statuses, from
// SEED (1). A run that was broken off goes on when it is started again with its seed.
import { join } from 'node:path';
import { localDirOf, paths } from './machine/paths.ts';
import { runCommand } from './processes/run-command.ts';
import { onStopSignal } from './processes/stop-signal.ts';
import { withThrowawayStack } from './test-run/throwaway-stack.ts';

const stopping = new AbortController();
const { signal } = stopping;
onStopSignal(() => stopping.abort());
try {
  process.exitCode = await withThrowawayStack(
    { kafka: true, signal },
    async ({ postgresUrl, brokers, ledger }) => {
      const { code } = await runCommand({
        ...{ command: process.execPath, args: ['--conditions=source', 'test/model/run-model.ts'] },
        ...{ cwd: join(paths.apps, 'applications'), ledger, signal },
        env: {
          ...process.env,
          TEST_POSTGRES_URL: postgresUrl,
          TEST_KAFKA_BROKERS: brokers.join(','),
          RESULTS: join(localDirOf(process.env), 'model', 'results.jsonl'),
        },
      });
      return code;
    },
  );
} catch (error) {
  if (!signal.aborted) throw error;
  process.exitCode = 130;
}
