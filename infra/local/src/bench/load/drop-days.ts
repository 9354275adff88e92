// One turn of the dispatcher's retention, from what was built, in a process of its own as another instance has it. Says what
// it took, in ms, and ends.
import { join } from 'node:path';
import { createLogger } from '@assistance/service-kit';
import { paths } from '../../machine/paths.ts';

export interface DropDaysOptions {
  databaseUrl: string;
  retentionDays: number;
}

type DropDays = (options: DropDaysOptions & { log: ReturnType<typeof createLogger> }) => Promise<number>;

const options = JSON.parse(process.argv[2] ?? '') as DropDaysOptions;
const { dropDays } = (await import(
  join(paths.apps, 'webhook-dispatcher', 'dist', 'retention', 'drop-days.js')
)) as { dropDays: DropDays };
const startedAt = performance.now();
const partitions = await dropDays({ ...options, log: createLogger({ service: 'bench', level: 'warn' }) });
process.send?.({ dropped: { partitions, tookMs: performance.now() - startedAt } }, () =>
  process.disconnect(),
);
